// refresh.js: pages that load again while somebody looks.

// every calls load at once and again when it is done and some time is over, but not while the tab is hidden, while a
// dialog asks something, or while the focus or a selection is inside of what would be drawn again.
export function every(milliseconds, load, problem, area) {
  let stopped = false;
  let running = false;
  let again = false;
  let timer = 0;
  const busy = () => document.hidden || document.querySelector("dialog[open]") || (area && (area.contains(document.activeElement) || (getSelection().type === "Range" && area.contains(getSelection().anchorNode))));
  const run = async (force) => {
    clearTimeout(timer);
    if (stopped) return;
    if (running) {
      again = again || force;
      return;
    }
    if (force || !busy()) {
      running = true;
      try {
        await load();
        if (!stopped) problem({});
      } catch (e) {
        if (!stopped) problem(e);
      }
      running = false;
    }
    if (stopped) return;
    timer = setTimeout(run, again ? 0 : milliseconds, again);
    again = false;
  };
  const seen = () => run(false);
  document.addEventListener("visibilitychange", seen);
  run(true);
  return {
    now: () => run(true),
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}

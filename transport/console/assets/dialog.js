// dialog.js: questions before an action, and what else it needs to know.
import { h } from "./dom.js";

// ask shows a dialog and calls run with the values of its fields when somebody confirms. It stays open, with the
// reason, if run is refused. A field is {id, label, value, type, min, most, step, max, required,
// placeholder, options}, where max is a number of characters; options are pairs of a value and a text.
export function ask({ title, text, fields = [], confirm, harmless, run }) {
  const inputs = fields.map((f) => f.options
    ? h("select", { id: "ask-" + f.id }, f.options.map(([value, t]) => h("option", { value, selected: value === f.value }, t)))
    : h("input", { id: "ask-" + f.id, value: f.value || "", type: f.type, min: f.min, max: f.most, step: f.step, maxlength: f.max, required: f.required, placeholder: f.placeholder, autocomplete: "off" }));
  const wrong = h("p", { class: "problem", role: "alert", hidden: true });
  const yes = h("button", { type: "submit", class: harmless ? null : "danger" }, confirm);
  const form = h("form", {
    onsubmit: async (e) => {
      e.preventDefault();
      yes.disabled = true;
      try {
        await run(Object.fromEntries(fields.map((f, i) => [f.id, inputs[i].value.trim()])));
        box.close();
      } catch (refused) {
        wrong.textContent = refused.message;
        wrong.hidden = false;
        yes.disabled = false;
      }
    },
  },
  h("h2", { id: "ask-title" }, title), h("p", { id: "ask-text" }, text), wrong,
  fields.map((f, i) => [h("label", { for: "ask-" + f.id }, f.label), inputs[i]]).flat(),
  h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", autofocus: fields.length === 0, onclick: () => box.close() }, "Cancel"), yes));
  const box = h("dialog", { "aria-labelledby": "ask-title", "aria-describedby": "ask-text", onclose: () => { removeEventListener("hashchange", leave); box.remove(); } }, form);
  const leave = () => box.close();
  addEventListener("hashchange", leave); // the page that asked is gone
  document.body.append(box);
  box.showModal();
}

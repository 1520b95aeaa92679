// What both lists of tests have in common: how they run, and how they judge.

/** Runs the tests of a table, or those with a name of `names`. `make` makes what each of them is given. */
export async function runList(table, names, make) {
  const results = []
  for (const [name, test] of Object.entries(table)) {
    if (names.length > 0 && !names.includes(name)) continue
    const t = make()
    const began = Date.now()
    const result = { name, error: '', figures: {} }
    try {
      result.figures = await test(t) ?? {}
    } catch (error) {
      result.error = String(error?.stack ?? error)
    }
    t.cleanUp()
    result.ms = Date.now() - began
    results.push(result)
  }
  return results
}

export function check(ok, what) {
  if (!ok) throw new Error(what)
}

export function same(got, want, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)]
  if (a !== b) throw new Error(`${what}: ${a}, want ${b}`)
}

export function between(got, least, most, what) {
  if (!(got >= least && got <= most)) throw new Error(`${what}: ${got}, want ${least} to ${most}`)
}

export async function fails(promise, type, what) {
  try {
    await promise
  } catch (error) {
    if (error instanceof type) return error
    throw new Error(`${what}: ${error?.stack ?? error}`)
  }
  throw new Error(`${what}: no error`)
}

/**
 * The relations between the branches of parallel agents. `undefined` stands for the part of a session outside all
 * branches.
 */

/** Returns whether `branch` is `outer` or is nested in it. Every branch is nested in `undefined`. */
export function isWithin(branch: string | undefined, outer: string | undefined): boolean {
  return outer === undefined || branch === outer || branch?.startsWith(`${outer}.`) === true;
}

/**
 * Returns whether an agent in the branch `from` sees the events of `branch`. Parallel branches do not see each other. A
 * parent sees the branches of its sub-agents.
 */
export function isVisible(branch: string | undefined, from: string | undefined): boolean {
  return isWithin(branch, from) || isWithin(from, branch);
}

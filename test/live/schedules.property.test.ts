/**
 * Random schedules of a live session: several calls in one response, answers of several people on every wire that race,
 * words beside answers, queued prompts, Esc and cancellations, and a process that is killed and started again. Whatever
 * happens, every call ends once, the model knows what became of it, and nothing was done that was not approved.
 *
 *   PARLEY_SCHEDULES=200 runs so many of each kind. PARLEY_SEED=17 runs this one alone, and tells what happened.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemsIn } from './schedules/checks.ts';
import { play } from './schedules/play.ts';

const { PARLEY_TEST_LONG: LONG, PARLEY_TEST_SCALE: SCALE } = process.env;
const RUNS = Number(
  process.env['PARLEY_SCHEDULES'] ?? (LONG === '1' ? 100 : SCALE === '1' ? 8 : 3),
);
const ONLY = process.env['PARLEY_SEED'];

for (const kills of [false, true]) {
  const runs = kills ? Math.ceil(RUNS / 4) : RUNS;
  const seeds =
    ONLY === undefined ? Array.from({ length: runs }, (_, at) => at + 1) : [Number(ONLY)];
  for (const seed of seeds) {
    const what = kills ? 'a process that is killed' : 'people who answer and cancel';
    test(`every call ends as it was decided, in its order, with ${what} (seed ${seed})`, async (t) => {
      const played = await play(t, { seed, kills });
      const problems = problemsIn(played);
      assert.deepEqual(problems, []);
    });
  }
}

/**
 * The fuzzer. It sends random and mutated input to every entry of the program, in one process.
 *
 *   npm run fuzz                                     50,000 cases with a new seed
 *   npm run fuzz -- --seed 7 --cases 1000000         more cases
 *   npm run fuzz -- --seconds 60 --only patch        one entry (or several), for a minute
 *   npm run fuzz -- --seed 7 --case 4711             one case again
 *
 * A failure is an error that is not one of the entry's own errors, an error that no code caught, an unexplained 5xx, an
 * invalid response, a server that does not answer, more than a second of CPU time for one case, or memory that is not
 * given back. Each failure is printed with its seed, its number, its shortest input, and the command that repeats it.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ENTRIES } from './entries/index.ts';
import type { Entry, Input, Target } from './entry.ts';
import { judge, minimise, strayFailure, type Failure } from './judge.ts';
import { Random } from './random.ts';

/** After so many cases, all servers are closed and opened again, and the memory is measured. */
const PERIOD = 10_000;
const MAX_GROWTH = 48 * 2 ** 20;
const MAX_FAILURES = 20;
const MAX_SHOWN = 1500;
const MAX_CLOSE_MS = 20_000;

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string' },
    cases: { type: 'string', default: '50000' },
    seconds: { type: 'string', default: '1e9' },
    case: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const seed = Number(options.seed ?? randomInt(2 ** 31));
const cases = Number(options.cases);
const seconds = Number(options.seconds);
const names = options.only.flatMap((each) => each.split(','));
const chosen = ENTRIES.filter(({ name }) => names.length === 0 || names.includes(name));
const wrong = names.filter((name) => !ENTRIES.some((each) => each.name === name));
if (wrong.length > 0 || ![seed, cases, seconds].every(Number.isFinite)) {
  console.error(`entries: ${ENTRIES.map(({ name }) => name).join(', ')}\nnumbers: --seed --cases`);
  process.exit(2);
}

const total = chosen.reduce((sum, { share }) => sum + share, 0);
const only = names.map((name) => ` --only ${name}`).join('');

/** The entry of a case is chosen by chance, according to the shares. */
function entryOf(random: Random): Entry {
  let at = random.int(total);
  return chosen.find(({ share }) => (at -= share) < 0) ?? chosen[0]!;
}

const targets = new Map<Entry, Target>();
async function targetOf(entry: Entry): Promise<Target> {
  const target = targets.get(entry) ?? (await entry.open());
  targets.set(entry, target);
  return target;
}

async function closeAll(): Promise<void> {
  const open = [...targets];
  targets.clear();
  for (const [entry, target] of open) {
    const closed = target[Symbol.asyncDispose]().then(() => true);
    if (await Promise.race([closed, delay(MAX_CLOSE_MS, false, { ref: false })])) continue;
    const what = 'does not close';
    await report(entry, done, { kind: what, report: `it ${what} within ${MAX_CLOSE_MS} ms` });
  }
}

const failures = new Map<string, number>();

async function report(entry: Entry, number: number, failure: Failure, input?: Input) {
  const kind = `${entry.name}: ${failure.kind}`;
  const known = failures.get(kind) ?? 0;
  failures.set(kind, known + 1);
  if (known > 0) return;
  console.log(`\nFAILED ${entry.name}, case ${number} of seed ${seed}\n${failure.report}`);
  console.log(`again: npm run fuzz -- --seed ${seed} --case ${number}${only}`);
  if (!input) return;
  const target = await targetOf(entry);
  const short = await minimise(target, input, failure);
  console.log(`input: ${shown(short)}`);
}

/** Everything that is not printable ASCII is escaped. */
function shown(input: Input): string {
  const text = JSON.stringify(input).replaceAll(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length})` : text;
}

async function runCase(number: number): Promise<void> {
  const random = new Random(seed, number);
  const entry = entryOf(random);
  const target = await targetOf(entry);
  const input = target.make(random);
  if (options.case !== undefined) console.log(`${entry.name}: ${shown(input)}`);
  const from = performance.now();
  const failure = await judge(target, input);
  const { count, ms } = costs.get(entry.name) ?? { count: 0, ms: 0 };
  costs.set(entry.name, { count: count + 1, ms: ms + performance.now() - from });
  if (failure) await report(entry, number, failure, input);
}

/** The memory in use after everything is closed. */
async function settled(): Promise<number> {
  await closeAll();
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

const costs = new Map<string, { readonly count: number; readonly ms: number }>();
const begun = performance.now();
const since = () => (performance.now() - begun) / 1000;
const memory: number[] = [];
let done = 0;

/**
 * Reports an error of the fuzzer itself. Otherwise, it would count as an error of the program, and the process would
 * wait for ever.
 */
function broken(error: unknown): never {
  console.error(`the fuzzer itself failed at case ${done} of seed ${seed}`, error);
  process.exit(1);
}

async function fuzz(): Promise<void> {
  if (options.case !== undefined) return runCase(Number(options.case));
  console.log(`fuzzing with seed ${seed}`);
  while (done < cases && since() < seconds && failures.size < MAX_FAILURES) {
    await runCase(done++);
    // Work that a case has left behind gets its turn.
    if (done % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (done % PERIOD !== 0) continue;
    memory.push(await settled());
    console.log(`${done} cases, ${Math.round(since())} s, ${megabytes(memory.at(-1) ?? 0)} MB`);
  }
}

await fuzz().catch(broken);
memory.push(await settled());
const left = strayFailure();
if (left) await report(chosen.at(-1)!, done, left);

// The first period loads code and fills caches.
const [first = 0] = memory.slice(1);
const last = memory.at(-1) ?? 0;
if (memory.length > 3 && last - first > MAX_GROWTH) {
  const sizes = memory.map(megabytes).join(', ');
  console.log(`\nFAILED memory grows: ${sizes} MB after each ${PERIOD} cases`);
  failures.set('memory', 1);
}
if (options.case === undefined) {
  const each = [...costs].map(([name, { count, ms }]) => `${name} ${count} (${Math.round(ms)} ms)`);
  console.log(`${done} cases in ${Math.round(since())} s: ${each.join(', ')}`);
}
for (const [kind, count] of failures) console.log(`${count} × ${kind}`);
console.log(failures.size === 0 ? 'no failure' : `${failures.size} failures`);
process.exit(failures.size === 0 ? 0 : 1);

/** Runs one case and says what went wrong. Makes the input of a failure shorter. */
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { Fault, type Input, type Target } from './entry.ts';

/** The event loop must not stand still for longer. Measured as CPU time, because the machine may be busy. */
const MAX_CPU_MS = 1000;
const MAX_WAIT_MS = 15_000;
const MINIMISE_RUNS = 600;
const MINIMISE_MS = 20_000;

export interface Failure {
  /** Equal for failures with the same cause, as far as that can be told. */
  readonly kind: string;
  readonly report: string;
}

/** Errors that no code has caught. */
const stray: unknown[] = [];
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => void stray.push(error));
}

export async function judge(target: Target, input: Input): Promise<Failure | undefined> {
  const begun = process.threadCpuUsage();
  let failure: Failure | undefined;
  try {
    const running = target.run(input);
    if (running instanceof Promise) {
      failure = await inTime(running);
      // Rejections that nobody handles are reported at the end of a turn of the event loop.
      await setImmediate();
    }
  } catch (error) {
    failure = failureOf(error);
  }
  const { user, system } = process.threadCpuUsage(begun);
  const spentMs = Math.round((user + system) / 1000);
  const unhandled = strayFailure();
  if (failure ?? unhandled) return failure ?? unhandled;
  if (spentMs <= MAX_CPU_MS) return undefined;
  return { kind: 'stall', report: `the event loop stood still: ${spentMs} ms of CPU time` };
}

export function strayFailure(): Failure | undefined {
  const [error] = stray.splice(0);
  if (error === undefined) return undefined;
  const { kind, report } = failureOf(error);
  return { kind: `unhandled ${kind}`, report: `an error that no code caught:\n${report}` };
}

async function inTime(running: Promise<void>): Promise<Failure | undefined> {
  const over = new AbortController();
  const late = delay(MAX_WAIT_MS, true, { signal: over.signal }).catch(() => false);
  const done = running.then(
    () => undefined,
    (error: unknown) => failureOf(error),
  );
  const first = await Promise.race([done, late]);
  over.abort();
  if (first !== true) return first === false ? undefined : first;
  return { kind: 'no answer', report: `no answer within ${MAX_WAIT_MS} ms` };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { kind: String(error), report: String(error) };
  if (error instanceof Fault) return { kind: error.rule, report: error.message };
  const place = /\n\s+at [^\n]*src\/[^\n]*/.exec(error.stack ?? '')?.[0] ?? '';
  const words = error.message.split('\n', 1)[0]?.replaceAll(/\d+|"[^"]*"|'[^']*'/g, '#') ?? '';
  const kind = `${error.name}: ${words.slice(0, 80)} ${place.replaceAll(/\s+/g, ' ')}`;
  return { kind, report: error.stack ?? error.message };
}

/** Removes pieces of the text for as long as the input fails in the same way. */
export async function minimise(target: Target, input: Input, failure: Failure): Promise<Input> {
  const deadline = performance.now() + MINIMISE_MS;
  let best = input;
  let runs = 0;
  for (let size = Math.ceil(best.text.length / 2); size >= 1; size = size >> 1) {
    for (let at = 0; at < best.text.length;) {
      if (++runs > MINIMISE_RUNS || performance.now() > deadline) return best;
      const tried = { ...best, text: best.text.slice(0, at) + best.text.slice(at + size) };
      const found = await judge(target, tried);
      if (found?.kind === failure.kind) best = tried;
      else at += size;
    }
  }
  return best;
}

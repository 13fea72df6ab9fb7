/**
 * A soak: `npm run soak -- --minutes 15 [--seed N] [--capacity N]`.
 *
 * Runs `parley serve` with SQLite and a small retention at about 70 % of its capacity. Clients send messages, read
 * streams, disconnect in the middle of a stream, cancel tasks, list tasks and open new connections, at random. The soak
 * fails if there is an unexpected error, if the memory after a garbage collection grows from the second to the last third
 * by more than 5 %, or if file descriptors leak.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Connection, messageRequest, rpcRequest } from './driver.ts';
import { startSubject, type Subject } from './subject.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '15' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    clients: { type: 'string', default: '32' },
    /** Operations per second. 0: it is measured. */
    capacity: { type: 'string', default: '0' },
  },
});
const minutes = Number(values.minutes);
const clients = Number(values.clients);
/** Part of the capacity that is used. */
const LOAD = 0.7;
/** The capacity is the highest of several measurements, because other programs may use the machine, too. */
const CALIBRATIONS = 5;
const CALIBRATION_MS = 3000;
const SAMPLES = 30;
/** Allowed growth of the memory. */
const GROWTH = 0.05;
/** Growth below this is noise, such as the code that was compiled meanwhile. */
const NOISE_BYTES = 2_000_000;
const MAX_SHOWN_ERRORS = 20;

const random = generator(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'parley-soak-'));
const store = join(folder, 'tasks.db');
const main = join(import.meta.dirname, '../src/cli/main.ts');
const errors = new Map<string, number>();
let operations = 0;

/** mulberry32 */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function expect(ok: boolean, problem: string): void {
  if (!ok) throw new Error(problem);
}

/** A client with one connection, which it replaces from time to time. */
class Client {
  readonly #port: number;
  #connection: Connection | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  async #open(): Promise<Connection> {
    return (this.#connection ??= await Connection.open(this.#port));
  }

  restart(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #send(request: string) {
    return (await this.#open()).send(request);
  }

  async #result(method: string, params: object): Promise<Record<string, unknown>> {
    const { body } = await this.#send(rpcRequest(method, params));
    const answer = JSON.parse(body) as { result?: Record<string, unknown> };
    expect(answer.result !== undefined, `${method}: ${body.slice(0, 200)}`);
    return answer.result ?? {};
  }

  async operation(): Promise<void> {
    const dice = random();
    if (dice < 0.4) await this.#stream();
    else if (dice < 0.6) await this.#sendMessage();
    else if (dice < 0.7) await this.#echo();
    else if (dice < 0.8) await this.#disconnect();
    else if (dice < 0.9) await this.#cancel();
    else if (dice < 0.97) await this.#list();
    else this.restart();
  }

  async #stream(): Promise<void> {
    const { events } = await this.#send(messageRequest('SendStreamingMessage', 'task 20 64'));
    expect(events === 20, `a stream had ${events} events instead of 20`);
  }

  async #sendMessage(): Promise<void> {
    const { body } = await this.#send(messageRequest('SendMessage', 'task 10 256 burst'));
    expect(body.includes('TASK_STATE_COMPLETED'), `SendMessage: ${body.slice(0, 200)}`);
  }

  async #echo(): Promise<void> {
    const { body } = await this.#send(messageRequest('SendMessage', 'echo hello'));
    expect(body.includes('hello'), `echo: ${body.slice(0, 200)}`);
  }

  async #disconnect(): Promise<void> {
    const connection = await this.#open();
    const request = messageRequest('SendStreamingMessage', 'task 40 64 1');
    await connection.follow(request, 1 + Math.floor(random() * 30));
    this.restart();
  }

  async #cancel(): Promise<void> {
    const parts = [{ text: 'hold' }];
    const messageId = `soak-${operations}-${random()}`;
    const message = { messageId, role: 'ROLE_USER', parts };
    const configuration = { returnImmediately: true };
    const { task } = await this.#result('SendMessage', { message, configuration });
    const { id } = task as { id: string };
    if (random() < 0.3) this.restart();
    const canceled = await this.#result('CancelTask', { id });
    const { state } = canceled['status'] as { state: string };
    expect(state === 'TASK_STATE_CANCELED', `CancelTask: the task is ${state}`);
    const { status } = await this.#result('GetTask', { id });
    expect((status as { state: string }).state === state, 'GetTask: another state');
  }

  async #list(): Promise<void> {
    const { tasks } = await this.#result('ListTasks', { pageSize: 10 });
    expect(Array.isArray(tasks), 'ListTasks: no tasks');
  }
}

/** Runs the clients until `until`. `gapMs` is the mean time between two operations of a client. */
async function load(port: number, until: number, gapMs: number): Promise<number> {
  const before = operations;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = new Client(port);
      let next = performance.now();
      while (performance.now() < until) {
        try {
          await client.operation();
        } catch (error) {
          const text = error instanceof Error ? error.message : String(error);
          errors.set(text, (errors.get(text) ?? 0) + 1);
          client.restart();
          await pause(100);
        }
        operations++;
        next = Math.max(next + gapMs * 2 * random(), performance.now() - 1000);
        const wait = next - performance.now();
        if (gapMs > 0 && wait > 0) await pause(wait);
      }
      client.restart();
    }),
  );
  return operations - before;
}

interface Sample {
  readonly heap: number;
  readonly external: number;
  readonly rss: number;
  readonly descriptors: number;
}

async function sample(subject: Subject): Promise<Sample> {
  const { heapUsed, external } = await subject.memory();
  const descriptors = readdirSync(`/proc/${subject.pid}/fd`).length;
  return { heap: heapUsed, external, rss: subject.rss(), descriptors };
}

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const flags = ['--port', '0', '--json', '--store', `sqlite:${store}`, '--retention', '30d,50MB'];
const subject = await startSubject({
  name: 'parley',
  command: [main, 'serve', '--agent', 'bench', ...flags],
  env: { PARLEY_HOME: folder, PARLEY_LOG_LEVEL: 'warn' },
});
const problems: string[] = [];
try {
  const quiet = await sample(subject);
  let capacity = Number(values.capacity);
  for (let n = 0; n < CALIBRATIONS && values.capacity === '0'; n++) {
    const done = await load(subject.port, performance.now() + CALIBRATION_MS, 0);
    capacity = Math.max(capacity, (done / CALIBRATION_MS) * 1000);
  }
  const gapMs = (clients * 1000) / (capacity * LOAD);
  console.log(
    `seed ${values.seed}: capacity ${capacity.toFixed(0)} operations/s, ${clients} clients at ${(capacity * LOAD).toFixed(0)}/s for ${minutes} min`,
  );
  const start = performance.now();
  const until = start + minutes * 60_000;
  const running = load(subject.port, until, gapMs);
  const samples: Sample[] = [];
  for (let n = 0; n < SAMPLES; n++) {
    // The last sample is taken shortly before the end of the load.
    await pause(start + ((n + 0.9) * minutes * 60_000) / SAMPLES - performance.now());
    const each = await sample(subject);
    samples.push(each);
    const { heap, external, rss, descriptors } = each;
    console.log(
      `${(((n + 1) / SAMPLES) * minutes).toFixed(1)} min: ${operations} operations, heap ${mb(heap)}, external ${mb(external)}, rss ${mb(rss)}, ${descriptors} descriptors, store ${mb(statSync(store).size)}`,
    );
  }
  const done = await running;
  // Streams of clients that went away end with their tasks.
  await pause(2000);
  const last = await sample(subject);
  const third = SAMPLES / 3;
  for (const what of ['heap', 'external'] as const) {
    const middle = median(samples.slice(third, 2 * third).map((each) => each[what]));
    const end = median(samples.slice(2 * third).map((each) => each[what]));
    console.log(`${what}: ${mb(middle)} in the middle third, ${mb(end)} in the last third`);
    if (end > middle * (1 + GROWTH) && end - middle > NOISE_BYTES) problems.push(`${what} grew`);
  }
  console.log(
    `${done} operations; descriptors: ${quiet.descriptors} before, ${last.descriptors} after`,
  );
  if (last.descriptors > quiet.descriptors + 4) problems.push('descriptors leaked');
} finally {
  await subject.stop();
  rmSync(folder, { recursive: true, force: true });
}
for (const [text, count] of [...errors].slice(0, MAX_SHOWN_ERRORS))
  problems.push(`${count} × ${text}`);
for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);

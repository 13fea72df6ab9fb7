/** Scenarios for memory, fairness and start-up. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, load, messageRequest, rpcRequest } from './driver.ts';
import { median, percentile, type Row } from './measure.ts';
import { bare, inMemory, onDisk, scratch, sdk, stop } from './subjects.ts';
import type { Subject } from './subject.ts';

async function heap(subject: Subject): Promise<number> {
  const { heapUsed, external } = await subject.memory();
  return heapUsed + external;
}

/** Returns a request that starts a task, which waits until it is canceled, and follows it. */
function ownTask(): string {
  return messageRequest('SendStreamingMessage', 'hold');
}

/** Returns a request for an idle stream. All clients follow the same waiting task. */
async function idleRequest(subject: Subject): Promise<string> {
  const hold = ownTask();
  if (subject.name === 'bare') return hold;
  const connection = await Connection.open(subject.port);
  await connection.follow(hold, 2);
  connection.close();
  const asked = await Connection.open(subject.port);
  const { body } = await asked.send(rpcRequest('ListTasks', { pageSize: 1 }));
  asked.close();
  const [task] = JSON.parse(body).result.tasks as { id: string }[];
  return rpcRequest('SubscribeToTask', { id: task!.id });
}

/** Opens `count` idle streams, and waits for the first `events` events of each. */
async function holdOpen(
  subject: Subject,
  request: () => string,
  count: number,
  events = 1,
): Promise<Connection[]> {
  const open: Connection[] = [];
  while (open.length < count) {
    const batch = await Promise.all(
      Array.from({ length: Math.min(100, count - open.length) }, async () => {
        const connection = await Connection.open(subject.port);
        await connection.follow(request(), events);
        return connection;
      }),
    );
    open.push(...batch);
  }
  return open;
}

/** Closes all connections, and waits until the server has freed their memory. */
async function closeAll(subject: Subject, open: readonly Connection[]): Promise<void> {
  for (const connection of open) connection.close();
  let last = await heap(subject);
  for (let tries = 0; tries < 20; tries++) {
    await delay(100);
    const now = await heap(subject);
    if (Math.abs(now - last) < last * 0.01) return;
    last = now;
  }
}

export async function idle(): Promise<Row[]> {
  const kib: Record<string, number> = {};
  const small: Record<string, number> = {};
  let secondPeak = Number.NaN;
  for (const subject of [await bare(), await inMemory(), await sdk()]) {
    // One-time allocations for the first streams must not count as the cost of a stream.
    const shared = await idleRequest(subject);
    const request = () => shared;
    await closeAll(subject, await holdOpen(subject, request, 200));
    const empty = await heap(subject);
    const some = await holdOpen(subject, request, 1000);
    small[subject.name] = ((await heap(subject)) - empty) / 1000 / 1024;
    await closeAll(subject, some);
    const before = await heap(subject);
    const first = await holdOpen(subject, request, 5000);
    const peak = await heap(subject);
    kib[subject.name] = (peak - before) / 5000 / 1024;
    await closeAll(subject, first);
    if (subject.name === 'parley') {
      const again = await holdOpen(subject, request, 5000);
      secondPeak = (await heap(subject)) / peak;
      await closeAll(subject, again);
    }
    await stop(subject);
  }
  return [
    { scenario: 'idle stream, 1,000 open', unit: 'KiB each', values: small },
    {
      scenario: 'idle stream, 5,000 open',
      unit: 'KiB each',
      values: kib,
      goal: { text: '≤ 2 × bare', reached: kib['parley']! / kib['bare']!, most: 2 },
    },
    {
      scenario: 'second 5,000 against the first, peak',
      unit: 'ratio',
      values: { parley: secondPeak },
      goal: { text: '≤ 1.05', reached: secondPeak, most: 1.05 },
    },
    ...(await idleOwn()),
  ];
}

/** Measures idle streams that have a task and an execution each. A task continues after its stream is closed. */
async function idleOwn(): Promise<Row[]> {
  const sizes = [1000, 5000];
  const kib = sizes.map((): Record<string, number> => ({}));
  for (const subject of [await bare(), await inMemory()]) {
    // V8 compiles the code of the first requests to machine code, which takes about 1 MB.
    await closeAll(subject, await holdOpen(subject, ownTask, 1000, 2));
    for (const [at, size] of sizes.entries()) {
      const before = await heap(subject);
      const open = await holdOpen(subject, ownTask, size, 2);
      kib[at]![subject.name] = ((await heap(subject)) - before) / size / 1024;
      await closeAll(subject, open);
    }
    await stop(subject);
  }
  return sizes.map((size, at) => ({
    scenario: `idle stream with its own task, ${size.toLocaleString('en')} open`,
    unit: 'KiB each',
    values: kib[at]!,
    goal: {
      text: '≤ 1.3 × bare',
      reached: kib[at]!['parley']! / kib[at]!['bare']!,
      most: 1.3,
    },
  }));
}

/** The growth of a server in MiB: the maximum, and the growth that remained after a garbage collection at the end. */
interface Growth {
  readonly peak: number;
  readonly held: number;
}

/**
 * Starts a task with `text`, reads its first event, and then stops reading. The server continues until the task ends.
 */
async function stall(
  subject: Subject,
  text: string,
  finished: () => Promise<boolean>,
): Promise<Growth> {
  // First read such a stream to its end, so that memory for normal traffic is allocated before the measurement.
  await load(subject.port, 1, 2, () =>
    messageRequest('SendStreamingMessage', 'flood 203 65536 burst'),
  );
  await subject.memory();
  const before = subject.rss();
  const connection = await Connection.open(subject.port);
  await connection.follow(messageRequest('SendStreamingMessage', text), 1);
  connection.socket.pause();
  let most = before;
  for (let tries = 0; tries < 600 && !(await finished()); tries++) {
    most = Math.max(most, subject.rss());
    await delay(100);
  }
  await subject.memory();
  const after = subject.rss();
  connection.close();
  const grown = (bytes: number) => (bytes - before) / 1024 / 1024;
  return { peak: grown(most), held: grown(after) };
}

async function lastTaskEnded(subject: Subject): Promise<boolean> {
  const connection = await Connection.open(subject.port);
  const { body } = await connection.send(rpcRequest('ListTasks', { pageSize: 1 }));
  connection.close();
  const [task] = JSON.parse(body).result.tasks as { status: { state: string } }[];
  return task !== undefined && !/SUBMITTED|WORKING/.test(task.status.state);
}

export async function slowReader(): Promise<Row[]> {
  const disk = await onDisk();
  // 16,000 chunks of 64 KiB are 1 GB.
  const grown = await stall(disk, 'flood 16003 65536 burst', () => lastTaskEnded(disk));
  await stop(disk);
  const memory = await inMemory();
  const limited = await stall(memory, 'flood 16003 65536 burst', () => lastTaskEnded(memory));
  await stop(memory);
  return [
    {
      scenario: 'a reader stops reading, 1 GB offered',
      unit: 'MiB grown',
      values: {
        parley: limited.held,
        sqlite: grown.held,
        'peak on SQLite': grown.peak,
        'peak in memory, where the task ends at 64 MB': limited.peak,
      },
      goal: { text: '≤ 20 MB on SQLite', reached: grown.held, most: 20 },
    },
  ];
}

export async function neighbour(): Promise<Row[]> {
  const values: Record<string, number> = {};
  for (const subject of [await bare(), await inMemory(), await sdk()]) {
    await load(subject.port, 1, 300, () => messageRequest('SendMessage', 'echo hi'));
    const latencies: number[] = [];
    const connection = await Connection.open(subject.port);
    const [warmUp, bursts] = subject.name === 'sdk' ? [0, 3] : [30, 60];
    for (let burst = -warmUp; burst < bursts; burst++) {
      const text = 'task 1000 16 burst';
      const noise = load(subject.port, 1, 1, () => messageRequest('SendStreamingMessage', text));
      const beside = { over: false };
      void noise.then(() => (beside.over = true));
      while (!beside.over) {
        const { ms } = await connection.send(messageRequest('SendMessage', 'echo hi'));
        // The first bursts take longer, because V8 compiles their code.
        if (burst >= 0) latencies.push(ms);
      }
    }
    connection.close();
    values[subject.name] = percentile(latencies, 0.99);
    await stop(subject);
  }
  return [
    {
      scenario: "a neighbour's p99 beside a 1,000-event burst",
      unit: 'ms (wall)',
      values,
      goal: { text: '≤ 20 ms', reached: values['parley']!, most: 20 },
    },
  ];
}

export async function broadcast(): Promise<Row[]> {
  const rows: Row[] = [];
  const ours = await inMemory();
  for (const readers of [100, 1000]) {
    const costs: number[] = [];
    for (let round = 0; round < 4; round++) costs.push(await broadcastTo(ours, readers));
    rows.push({
      scenario: `broadcast to ${readers.toLocaleString('en')} readers`,
      unit: 'µs/event and reader',
      // V8 compiles the code during the first round.
      values: { parley: median(costs.slice(1)) },
    });
  }
  await stop(ours);
  return rows;
}

/** Starts a task that many clients follow. Returns the CPU time per event and reader, in microseconds. */
async function broadcastTo(subject: Subject, readers: number): Promise<number> {
  const starter = await Connection.open(subject.port);
  const { body } = await starter.send(
    rpcRequest('SendMessage', {
      message: {
        messageId: crypto.randomUUID(),
        role: 'ROLE_USER',
        parts: [{ text: 'task 203 16 20' }],
      },
      configuration: { returnImmediately: true },
    }),
  );
  const { id } = JSON.parse(body).result.task as { id: string };
  starter.close();
  const open = await Promise.all(
    Array.from({ length: readers }, () => Connection.open(subject.port)),
  );
  const before = subject.cpu() ?? 0;
  const answers = await Promise.all(
    open.map((connection) => connection.send(rpcRequest('SubscribeToTask', { id }))),
  );
  const cpu = ((subject.cpu() ?? 0) - before) * 1e6;
  for (const connection of open) connection.close();
  return cpu / answers.reduce((sum, answer) => sum + answer.events, 0);
}

/** Returns the time from the start of the process to the first answer. */
async function startUp(command: readonly string[]): Promise<number> {
  const before = performance.now();
  const child = spawn(process.execPath, command, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PARLEY_HOME: scratch() },
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  const { port } = JSON.parse(line) as { port: number };
  const connection = await Connection.open(port);
  await connection.send(messageRequest('SendMessage', 'hello'));
  const took = performance.now() - before;
  connection.close();
  // Node writes its compile cache only if the process ends by itself.
  child.kill('SIGTERM');
  await once(child, 'exit');
  return took;
}

export async function start(): Promise<Row[]> {
  const launcher = join(import.meta.dirname, '../dist/parley-cli/bin/parley.js');
  const plain = join(scratch(), 'bare.mjs');
  writeFileSync(plain, BARE_START);
  const took: Record<string, number[]> = { bare: [], parley: [], sqlite: [] };
  const serve = [launcher, 'serve', '--agent', 'echo', '--port', '0', '--json'];
  for (let round = 0; round < 12; round++) {
    took['bare']!.push(await startUp([plain]));
    took['parley']!.push(await startUp([...serve, '--store', 'memory']));
    took['sqlite']!.push(await startUp(serve));
  }
  const values = Object.fromEntries(
    Object.entries(took).map(([name, list]) => [name, median(list.slice(2))]),
  );
  const reached = values['sqlite']! / values['bare']!;
  return [
    {
      scenario: 'start to first answer, echo, built',
      unit: 'ms (wall)',
      values,
      goal: { text: '≤ 2 × bare', reached, most: 2 },
    },
  ];
}

/**
 * The smallest server that answers. It is plain JavaScript, so that the measured time does not include type stripping.
 */
const BARE_START = `import { createServer } from 'node:http';
const server = createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'));
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
`;

/** Scenarios that measure the cost of a request and of an event. */
import { load, messageRequest, rpcRequest } from './driver.ts';
import { compare, median, type Row, type Work } from './measure.ts';
import { bare, inMemory, onDisk, sdk, stop } from './subjects.ts';
import type { Subject } from './subject.ts';

const ECHO = () => messageRequest('SendMessage', 'echo hello');

function stream(text: string): () => string {
  return () => messageRequest('SendStreamingMessage', text);
}

/** Returns the work of reading `tasks` streams of `events` events each, over `connections` connections. */
function streaming(subject: Subject, connections: number, tasks: number, events: number): Work {
  return {
    subject,
    async run() {
      const done = await load(subject.port, connections, tasks, stream(`task ${events} 16`));
      if (done.events !== tasks * events) {
        throw new Error(`${subject.name} sent ${done.events} events, not ${tasks * events}`);
      }
      return done.events;
    },
  };
}

function valuesOf(costs: ReadonlyMap<string, { cpuUs: number }>): Record<string, number> {
  return Object.fromEntries([...costs].map(([name, { cpuUs }]) => [name, cpuUs]));
}

function ratio(values: Readonly<Record<string, number>>, name = 'parley', base = 'bare'): number {
  return values[name]! / values[base]!;
}

export async function unary(): Promise<Row[]> {
  const subjects = [await bare(), await inMemory(), await sdk()];
  const rows: Row[] = [];
  for (const connections of [1, 32, 256]) {
    const works = subjects.map((subject) => ({
      subject,
      async run() {
        const total = subject.name === 'sdk' ? 1000 : 4000;
        await load(subject.port, connections, total, ECHO);
        return total;
      },
    }));
    const values = valuesOf(await compare(connections === 32 ? 11 : 5, works));
    const goal = { text: '≤ 1.2 × bare', reached: ratio(values), most: 1.2 };
    const scenario = `unary, ${connections} connection${connections === 1 ? '' : 's'}`;
    rows.push({ scenario, unit: 'µs/request', values, ...(connections === 32 && { goal }) });
  }
  await stop(...subjects);
  return rows;
}

export async function streams(): Promise<Row[]> {
  const subjects = [await bare(), await inMemory(), await sdk()];
  const [plain, ours, theirs] = subjects as [Subject, Subject, Subject];
  const ten = valuesOf(
    await compare(11, [
      streaming(plain, 16, 800, 10),
      streaming(ours, 16, 800, 10),
      streaming(theirs, 16, 150, 10),
    ]),
  );
  const thousand = valuesOf(
    await compare(7, [streaming(plain, 4, 24, 1000), streaming(ours, 4, 24, 1000)]),
  );
  Object.assign(thousand, valuesOf(await compare(2, [streaming(theirs, 1, 1, 1000)])));
  const first: Record<string, number> = {};
  for (const subject of subjects) {
    const { firstEventMs } = await load(subject.port, 1, 300, stream('task 3 16'));
    first[subject.name] = median(firstEventMs) * 1000;
  }
  await stop(...subjects);
  const unit = 'µs/event';
  return [
    {
      scenario: '10-event task, 16 connections',
      unit,
      values: ten,
      goal: { text: '≤ 1.2 × bare', reached: ratio(ten), most: 1.2 },
    },
    {
      scenario: '1,000-event task, 4 connections',
      unit,
      values: thousand,
      goal: { text: '≤ 0.6 × bare', reached: ratio(thousand), most: 0.6 },
    },
    { scenario: 'time to first event, 1 connection', unit: 'µs (wall)', values: first },
  ];
}

export async function growth(): Promise<Row[]> {
  const ours = await inMemory();
  const disk = await onDisk();
  const rows: Row[] = [];
  const perEvent: Record<string, Record<number, number>> = { parley: {}, sqlite: {} };
  for (const events of [100, 1000, 5000, 50_000]) {
    const tasks = Math.max(1, Math.round(50_000 / events));
    const works = [ours, disk].map((subject) => streaming(subject, 1, tasks, events));
    const values = valuesOf(await compare(5, works));
    for (const name of ['parley', 'sqlite']) perEvent[name]![events] = values[name]!;
    const grown = (name: string) => perEvent[name]![events]! / perEvent[name]![100]!;
    const goal = {
      text: '≤ 1.1 × of 100 events',
      reached: Math.max(grown('parley'), grown('sqlite')),
      most: 1.1,
    };
    const scenario = `one task of ${events.toLocaleString('en')} events`;
    rows.push({ scenario, unit: 'µs/event', values, ...(events === 50_000 && { goal }) });
  }
  await stop(ours, disk);
  return rows;
}

export async function sqlite(): Promise<Row[]> {
  const plain = await bare();
  const normal = await onDisk('sqlite');
  const full = await onDisk('sqlite full', '--durability', 'full');
  const ten = valuesOf(
    await compare(9, [
      streaming(plain, 16, 600, 10),
      streaming(normal, 16, 600, 10),
      streaming(full, 16, 200, 10),
    ]),
  );
  const thousand = valuesOf(
    await compare(5, [streaming(plain, 4, 24, 1000), streaming(normal, 4, 24, 1000)]),
  );
  const works = [plain, normal].map((subject) => ({
    subject,
    async run() {
      await load(subject.port, 32, 3000, ECHO);
      return 3000;
    },
  }));
  const requests = valuesOf(await compare(5, works));
  await stop(plain, normal, full);
  return [
    {
      scenario: '10-event task on SQLite, 16 connections',
      unit: 'µs/event',
      values: ten,
      goal: { text: '≤ 1.6 × bare in memory', reached: ratio(ten, 'sqlite'), most: 1.6 },
    },
    {
      scenario: '1,000-event task on SQLite, 4 connections',
      unit: 'µs/event',
      values: thousand,
      goal: { text: '≤ 1.5 × bare in memory', reached: ratio(thousand, 'sqlite'), most: 1.5 },
    },
    {
      scenario: 'unary on SQLite, 32 connections',
      unit: 'µs/request',
      values: requests,
      goal: { text: '≤ 2.2 × bare in memory', reached: ratio(requests, 'sqlite'), most: 2.2 },
    },
  ];
}

/** Stores `count` small tasks, by sending messages. */
async function fill(subject: Subject, count: number): Promise<void> {
  await load(subject.port, 32, count, () => messageRequest('SendMessage', 'task 3 16 burst'));
}

export async function list(): Promise<Row[]> {
  const rows: Row[] = [];
  const costs: Record<string, Record<string, Record<number, number>>> = {};
  for (const [name, open, counts] of [
    ['parley', inMemory, [1000, 10_000, 100_000]],
    ['sqlite', onDisk, [1000, 10_000, 100_000]],
    ['sdk', sdk, [1000, 10_000]],
  ] as const) {
    const subject = await open();
    let stored = 0;
    for (const count of counts) {
      await fill(subject, count - stored);
      stored = count;
      const id = await someTask(subject);
      for (const [what, request, total] of [
        ['list', () => rpcRequest('ListTasks', { pageSize: 50 }), name === 'sdk' ? 20 : 400],
        ['get', () => rpcRequest('GetTask', { id }), name === 'sdk' ? 100 : 1000],
      ] as const) {
        const work = {
          subject,
          async run() {
            await load(subject.port, 4, total, request);
            return total;
          },
        };
        const { cpuUs } = (await compare(5, [work])).get(subject.name)!;
        ((costs[what] ??= {})[name] ??= {})[count] = cpuUs;
      }
    }
    await stop(subject);
  }
  for (const what of ['list', 'get']) {
    for (const count of [1000, 10_000, 100_000]) {
      const values: Record<string, number> = {};
      for (const name of ['parley', 'sqlite', 'sdk']) {
        const cost = costs[what]![name]![count];
        if (cost !== undefined) values[name] = cost;
      }
      const grown = (name: string) => costs[what]![name]![100_000]! / costs[what]![name]![1000]!;
      const goal = {
        text: '≤ 1.3 × of 1,000 stored',
        reached: Math.max(grown('parley'), grown('sqlite')),
        most: 1.3,
      };
      const title = what === 'list' ? 'ListTasks of 50' : 'GetTask';
      rows.push({
        scenario: `${title}, ${count.toLocaleString('en')} stored`,
        unit: 'µs/request',
        values,
        ...(count === 100_000 && what === 'list' && { goal }),
      });
    }
  }
  return rows;
}

async function someTask(subject: Subject): Promise<string> {
  const { Connection } = await import('./driver.ts');
  const connection = await Connection.open(subject.port);
  const { body } = await connection.send(messageRequest('SendMessage', 'task 3 16 burst'));
  connection.close();
  return JSON.parse(body).result.task.id as string;
}

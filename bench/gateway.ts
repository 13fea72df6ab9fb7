/**
 * Measures the cost of the gateway's hop. A bare proxy and our gateway are in front of the same agent, or of the same
 * vendor of models, whose answers the gateway passes on. Both get the same requests with a key, which the bare proxy
 * ignores.
 *
 * The agent sends an event every two milliseconds on each stream, so that every event has a packet of its own. In a
 * burst, an event would cost almost nothing. With more streams the ratio is lower, so there is one row for few streams
 * and one row for many.
 */
import { load, messageRequest, postRequest, type Door } from './driver.ts';
import { compare, type Row } from './measure.ts';
import type { Subject } from './subject.ts';
import {
  bareAgent,
  bareProxy,
  gateway as gatewayBefore,
  modelGateway,
  stop,
  vendor,
} from './subjects.ts';

const REQUESTS = 4000;
/** V8 still compiles the gateway's functions during the first 12,000 requests, and those of the bare proxy, too. */
const WARM_UP_ROUNDS = 4;
const STREAMS = [
  { streams: 16, events: 500 },
  { streams: 64, events: 250 },
];

/** The vendors' APIs whose answers are passed on. */
const RELAYS = [
  {
    path: '/v1/messages',
    headers: 'anthropic-version: 2023-06-01\r\n',
    body: (content: string) => ({
      model: 'claude',
      max_tokens: 1000,
      stream: true,
      messages: [{ role: 'user', content }],
    }),
  },
  {
    path: '/v1/responses',
    headers: '',
    body: (input: string) => ({ model: 'gpt', input, stream: true, store: false }),
  },
];

function doorOf({ name, key }: Subject, path: string): Door {
  const isAgent = path.startsWith('/agents');
  return {
    path: isAgent && name === 'bare' ? '/' : path,
    key: key || 'a-key-that-nobody-looks-at',
  };
}

export async function gateway(): Promise<Row[]> {
  const upstream = await bareAgent();
  const subjects = [
    await bareProxy(upstream),
    await gatewayBefore('parley', upstream),
    await gatewayBefore('sqlite', upstream),
  ];
  const requests = await compare(
    11,
    subjects.map((subject) => ({
      subject,
      async run() {
        const door = doorOf(subject, '/agents/bench');
        await load(subject.port, 32, REQUESTS, () =>
          messageRequest('SendMessage', 'echo hello', door),
        );
        return REQUESTS;
      },
    })),
    WARM_UP_ROUNDS,
  );
  const rows = [
    row('gateway, a request, 32 connections', 'µs/request', requests, { parley: 2.2, sqlite: 3 }),
  ];
  for (const { streams, events } of STREAMS) {
    const costs = await compare(
      9,
      subjects.map((subject) => ({
        subject,
        async run() {
          const door = doorOf(subject, '/agents/bench');
          const done = await load(subject.port, streams, streams, () =>
            messageRequest('SendStreamingMessage', `task ${events} 16 2`, door),
          );
          if (done.events !== streams * events) {
            throw new Error(`${subject.name} passed on ${done.events} events`);
          }
          return done.events;
        },
      })),
    );
    rows.push(
      row(`gateway, an event, ${streams} streams`, 'µs/event', costs, { parley: 1.4, sqlite: 2 }),
    );
  }
  await stop(...subjects, upstream);
  return [...rows, ...(await relays(9))];
}

/** Measures an event of an answer that the gateway passes on in the vendor's own format. */
async function relays(rounds: number): Promise<Row[]> {
  const upstream = await vendor();
  const subjects = [await bareProxy(upstream), await modelGateway('parley', upstream)];
  const { streams, events } = STREAMS[0]!;
  const rows: Row[] = [];
  for (const { path, headers, body } of RELAYS) {
    const costs = await compare(
      rounds,
      subjects.map((subject) => ({
        subject,
        async run() {
          const door = doorOf(subject, path);
          const done = await load(subject.port, streams, streams, () =>
            postRequest(body(`task ${events} 16 2`), door, headers),
          );
          if (done.events < streams * events) {
            throw new Error(`${subject.name} passed on ${done.events} events`);
          }
          return done.events;
        },
      })),
    );
    rows.push(
      row(`gateway, an event of ${path}, ${streams} streams`, 'µs/event', costs, { parley: 1.5 }),
    );
  }
  await stop(...subjects, upstream);
  return rows;
}

/** Makes a row. `most` has the largest allowed ratio to the bare proxy, by the name of the subject. */
function row(
  scenario: string,
  unit: string,
  costs: ReadonlyMap<string, { readonly cpuUs: number }>,
  most: Readonly<Record<string, number>>,
): Row {
  const values = Object.fromEntries([...costs].map(([name, { cpuUs }]) => [name, cpuUs]));
  const goals = Object.entries(most).map(([name, limit]) => {
    const reached = values[name]! / values['bare']!;
    return { name, limit, reached, missed: reached / limit };
  });
  // A row has one goal, so it is the one that is missed by most, or met with the least room.
  const goal = goals.reduce((one, other) => (other.missed > one.missed ? other : one));
  const text = goals.map(({ name, limit }) => `${name} ≤ ${limit} ×`).join(', ');
  return {
    scenario,
    unit,
    values,
    goal: { text: `${text} bare`, reached: goal.reached, most: goal.limit },
  };
}

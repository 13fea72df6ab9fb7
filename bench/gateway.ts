/**
 * Measures the cost of the gateway's hop. A bare proxy and our gateway are in front of the same agent. Both get the
 * same requests with a key, which the bare proxy ignores.
 *
 * The agent sends an event every two milliseconds on each stream, so that every event has a packet of its own. In a
 * burst, an event would cost almost nothing. With more streams the ratio is lower, so there is one row for few streams
 * and one row for many.
 */
import { load, messageRequest, type Door } from './driver.ts';
import { compare, type Row } from './measure.ts';
import type { Subject } from './subject.ts';
import { bareProxy, gateway as gatewayBefore, inMemory, stop } from './subjects.ts';

const REQUESTS = 4000;
const STREAMS = [
  { streams: 16, events: 500 },
  { streams: 64, events: 250 },
];

function doorOf({ key }: Subject): Door {
  return { path: '/agents/bench', key: key || 'a-key-that-nobody-looks-at' };
}

export async function gateway(): Promise<Row[]> {
  const upstream = await inMemory();
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
        const door = doorOf(subject);
        await load(subject.port, 32, REQUESTS, () =>
          messageRequest('SendMessage', 'echo hello', door),
        );
        return REQUESTS;
      },
    })),
  );
  const rows = [row('gateway, a request, 32 connections', 'µs/request', requests, 2.5)];
  for (const { streams, events } of STREAMS) {
    const costs = await compare(
      9,
      subjects.map((subject) => ({
        subject,
        async run() {
          const door = doorOf(subject);
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
    rows.push(row(`gateway, an event, ${streams} streams`, 'µs/event', costs, 1.5));
  }
  await stop(...subjects, upstream);
  return rows;
}

function row(
  scenario: string,
  unit: string,
  costs: ReadonlyMap<string, { readonly cpuUs: number }>,
  most: number,
): Row {
  const values = Object.fromEntries([...costs].map(([name, { cpuUs }]) => [name, cpuUs]));
  const reached = values['parley']! / values['bare']!;
  return { scenario, unit, values, goal: { text: `≤ ${most} × bare`, reached, most } };
}

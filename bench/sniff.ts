/** What it costs HTTP/1.1 that the listener tells it from HTTP/2 by the first bytes of a connection. */
import { join } from 'node:path';
import { Connection, load, messageRequest } from './driver.ts';
import { compare, type Row } from './measure.ts';
import { started, stop } from './subjects.ts';

const REQUEST = () => messageRequest('SendMessage', 'echo hello');
const SERVER = join(import.meta.dirname, 'servers/sniff.ts');
const PARALLEL = 16;

/** Sends requests, each on a connection of its own. */
async function shortConnections(port: number, total: number): Promise<void> {
  let left = total;
  const worker = async () => {
    while (left-- > 0) {
      const connection = await Connection.open(port);
      await connection.send(REQUEST());
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

export async function sniff(): Promise<Row[]> {
  const plain = await started({ name: 'plain', command: [SERVER, 'plain'] });
  const ours = await started({ name: 'parley', command: [SERVER] });
  const subjects = [plain, ours];
  const measured = async (
    total: number,
    run: (port: number, total: number) => Promise<unknown>,
  ) => {
    const works = subjects.map((subject) => ({
      subject,
      run: () => run(subject.port, total).then(() => total),
    }));
    const costs = await compare(15, works);
    return Object.fromEntries([...costs].map(([name, { cpuUs }]) => [name, cpuUs]));
  };
  const kept = await measured(8000, (port, total) => load(port, 32, total, REQUEST));
  const short = await measured(1500, shortConnections);
  await stop(...subjects);
  const goal = { text: '≤ 1.02 × plain', reached: kept['parley']! / kept['plain']!, most: 1.02 };
  return [
    { scenario: 'sniff, 32 kept connections', unit: 'µs/request', values: kept, goal },
    { scenario: 'sniff, a connection per request', unit: 'µs/request', values: short },
  ];
}

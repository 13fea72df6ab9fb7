/** Scenarios that measure the cost of a request and of an event over gRPC. */
import { fromJson } from '@bufbuild/protobuf';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { isServerStreaming, isUnary, serviceSchema } from '../src/grpc/codec/index.ts';
import { compare, type Row, type Work } from './measure.ts';
import { bareGrpc, inMemory, stop } from './subjects.ts';
import type { Subject } from './subject.ts';

const { sendMessage, sendStreamingMessage } = serviceSchema('lf.a2a.v1.A2AService').method;

function request(text: string) {
  if (!isUnary(sendMessage)) throw new Error('the service has other methods than expected');
  const messageId = crypto.randomUUID();
  return fromJson(sendMessage.input, {
    message: { messageId, role: 'ROLE_USER', parts: [{ text }] },
  });
}

/** Runs `total` calls, `connections` at a time, each on a connection of its own. */
async function calls(
  subject: Subject,
  connections: number,
  total: number,
  call: (transport: ReturnType<typeof createGrpcTransport>) => Promise<number>,
): Promise<number> {
  let left = total;
  let done = 0;
  const workers = Array.from({ length: connections }, async () => {
    const baseUrl = `http://127.0.0.1:${subject.port}`;
    const transport = createGrpcTransport({ baseUrl, idleConnectionTimeoutMs: 500 });
    while (left-- > 0) {
      const count = await call(transport);
      done += count;
    }
  });
  await Promise.all(workers);
  return done;
}

function unary(subject: Subject, connections: number, total: number): Work {
  return {
    subject,
    run: () =>
      calls(subject, connections, total, async (transport) => {
        if (!isUnary(sendMessage)) return 0;
        await transport.unary(sendMessage, undefined, undefined, {}, request('echo hello'));
        return 1;
      }),
  };
}

function streaming(subject: Subject, connections: number, tasks: number, events: number): Work {
  return {
    subject,
    async run() {
      const seen = await calls(subject, connections, tasks, async (transport) => {
        if (!isServerStreaming(sendStreamingMessage)) return 0;
        const input = once(request(`task ${events} 16`));
        const { message } = await transport.stream(
          sendStreamingMessage,
          undefined,
          undefined,
          {},
          input,
        );
        let count = 0;
        for await (const _ of message) count++;
        return count;
      });
      if (seen !== tasks * events) {
        throw new Error(`${subject.name} sent ${seen} events, not ${tasks * events}`);
      }
      return seen;
    },
  };
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

export async function grpc(): Promise<Row[]> {
  const subjects = [await bareGrpc(), await inMemory()];
  const row = async (scenario: string, unit: string, rounds: number, works: Work[]) => {
    const costs = await compare(rounds, works);
    const values = Object.fromEntries([...costs].map(([name, { cpuUs }]) => [name, cpuUs]));
    const goal = { text: '≤ 1.5 × bare', reached: values.parley! / values.bare!, most: 1.5 };
    return { scenario, unit, values, goal };
  };
  const rows = [
    await row(
      'gRPC unary, 16 connections',
      'µs/request',
      7,
      subjects.map((subject) => unary(subject, 16, 2000)),
    ),
    await row(
      'gRPC 10-event task, 16 connections',
      'µs/event',
      7,
      subjects.map((subject) => streaming(subject, 16, 400, 10)),
    ),
    await row(
      'gRPC 1,000-event task, 4 connections',
      'µs/event',
      5,
      subjects.map((subject) => streaming(subject, 4, 8, 1000)),
    ),
  ];
  await stop(...subjects);
  return rows;
}

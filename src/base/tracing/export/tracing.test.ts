import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import type { TraceLog } from './otlp.ts';
import { ERROR_TYPE, GEN_AI } from '../gen-ai.ts';
import { parseTraceparent } from '../trace-context.ts';
import { createTracer, type Telemetry, tracingOptions } from './tracing.ts';

interface Received {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    resourceSpans: {
      resource: { attributes: object[] };
      scopeSpans: { scope: object; spans: Record<string, unknown>[] }[];
    }[];
  };
}

type Answer = { status: number; headers?: Record<string, string>; body?: string };

/** A collector that answers as told, and then well. */
async function collector(t: TestContext, answers: Answer[] = []) {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => void take(request, response));
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await json(request)) as Received['body'];
    received.push({ path: request.url, headers: request.headers, body });
    const { status, headers, body: text } = answers.shift() ?? { status: 200, body: '{}' };
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    server.emit('received');
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, received, server };
}

function tracerFor(telemetry: Telemetry, meter = new Counts()) {
  const warnings: object[] = [];
  const logger: TraceLog = {
    warn: (fields) => warnings.push(fields),
  };
  const options = {
    logger,
    service: 'parley-test',
    version: '1.2.3',
    meter,
    lingerMs: 1,
    retryMs: 1,
  };
  return { tracer: createTracer(tracingOptions(telemetry), options), meter, warnings };
}

class Counts {
  readonly of: Record<string, number> = {};
  count(_name: string, labels: Readonly<Record<string, string>> = {}, by = 1): void {
    const outcome = labels['outcome'] ?? '';
    this.of[outcome] = (this.of[outcome] ?? 0) + by;
  }
}

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('a span reaches the collector as OTLP has it in JSON', async (t) => {
  const { endpoint, received } = await collector(t);
  const { tracer, meter } = tracerFor({
    endpoint: `${endpoint}/`,
    headers: { 'x-team': 'a' },
    serviceName: 'edge',
  });
  const span = tracer.start('chat small', {
    kind: 'client',
    parent: PARENT,
    attributes: { [GEN_AI.operation]: 'chat', [GEN_AI.requestModel]: 'small' },
  });
  span.set({ [GEN_AI.inputTokens]: 12, [GEN_AI.finishReasons]: ['stop'], ratio: 0.5, own: true });
  span.end();
  span.end();
  await tracer.close();

  assert.equal(received.length, 1);
  const [{ path, headers, body }] = received as [Received];
  assert.equal(path, '/v1/traces');
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['x-team'], 'a');
  const [{ resource, scopeSpans }] = body.resourceSpans as [Received['body']['resourceSpans'][0]];
  assert.deepEqual(resource.attributes, [
    { key: 'service.name', value: { stringValue: 'edge' } },
    { key: 'service.version', value: { stringValue: '1.2.3' } },
  ]);
  assert.deepEqual(scopeSpans[0]?.scope, { name: 'parley', version: '1.2.3' });
  assert.equal(scopeSpans[0]?.spans.length, 1);
  const { spanId, startTimeUnixNano, endTimeUnixNano, ...rest } = scopeSpans[0].spans[0]!;
  assert.deepEqual(rest, {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    parentSpanId: 'b7ad6b7169203331',
    name: 'chat small',
    kind: 3,
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'gen_ai.request.model', value: { stringValue: 'small' } },
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
      {
        key: 'gen_ai.response.finish_reasons',
        value: { arrayValue: { values: [{ stringValue: 'stop' }] } },
      },
      { key: 'ratio', value: { doubleValue: 0.5 } },
      { key: 'own', value: { boolValue: true } },
    ],
    status: {},
  });
  assert.match(String(spanId), /^[0-9a-f]{16}$/);
  assert.equal(span.traceparent, `00-0af7651916cd43dd8448eb211c80319c-${String(spanId)}-01`);
  const [start, end] = [startTimeUnixNano, endTimeUnixNano].map((text) => BigInt(String(text)));
  assert.ok(start! <= end!);
  assert.ok(Math.abs(Number(start! / 1_000_000n) - Date.now()) < 60_000);
  assert.deepEqual(meter.of, { exported: 1 });
});

test('a span that failed says so, with a word for the kind of failure', async (t) => {
  const { endpoint, received } = await collector(t);
  const { tracer } = tracerFor({ endpoint });
  const span = tracer.start('chat small');
  span.fail('timeout');
  span.end();
  await tracer.close();
  const sent = received[0]?.body.resourceSpans[0]?.scopeSpans[0]?.spans[0];
  assert.deepEqual(sent?.['status'], { code: 2 });
  assert.deepEqual(sent?.['attributes'], [{ key: ERROR_TYPE, value: { stringValue: 'timeout' } }]);
  assert.ok(!('parentSpanId' in sent));
});

test('a collector that is busy gets them again, once it says when', async (t) => {
  const { endpoint, received } = await collector(t, [
    { status: 429, headers: { 'retry-after': '0' } },
    { status: 503 },
  ]);
  const { tracer, meter } = tracerFor({ endpoint });
  tracer.start('a').end();
  await tracer.close();
  assert.equal(received.length, 3);
  assert.deepEqual(meter.of, { exported: 1 });
});

test('what a collector refuses is dropped and counted, and one line is logged', async (t) => {
  const { endpoint, received, server } = await collector(t, [{ status: 400 }, { status: 401 }]);
  const { tracer, meter, warnings } = tracerFor({ endpoint });
  tracer.start('a').end();
  await once(server, 'received');
  tracer.start('b').end();
  await tracer.close();
  assert.equal(received.length, 2);
  assert.deepEqual(meter.of, { dropped: 2 });
  assert.deepEqual(warnings, [{ problem: 'the collector responded with status 400', spans: 1 }]);
});

test('spans that the collector did not keep are counted', async (t) => {
  const body = '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}';
  const { endpoint } = await collector(t, [{ status: 200, body }]);
  const { tracer, meter } = tracerFor({ endpoint });
  tracer.start('a').end();
  tracer.start('b').end();
  await tracer.close();
  assert.deepEqual(meter.of, { rejected: 1, exported: 1 });
});

test('a nonsensical count of rejected spans is ignored', async (t) => {
  const body = '{"partialSuccess":{"rejectedSpans":-5}}';
  const { endpoint } = await collector(t, [{ status: 200, body }]);
  const { tracer, meter } = tracerFor({ endpoint });
  tracer.start('a').end();
  await tracer.close();
  assert.deepEqual(meter.of, { exported: 1 });
});

test('a collector that is away holds nobody up, and the queue has an end', async () => {
  const { tracer, meter } = tracerFor({ endpoint: 'http://127.0.0.1:1' });
  for (let at = 0; at < 3000; at += 1) tracer.start('a').end();
  await tracer.close();
  assert.equal(meter.of['dropped'], 3000);
});

test('an accepted batch is not sent again, even if the response of the collector has no end', async (t) => {
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    request.resume();
    response.writeHead(200);
    const write = () => {
      while (response.write(Buffer.alloc(16_384)));
    };
    response.on('drain', write);
    write();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const { tracer, meter, warnings } = tracerFor({ endpoint: `http://127.0.0.1:${port}` });
  tracer.start('chat').end();
  await tracer.close();
  assert.deepEqual([requests, meter.of, warnings], [1, { exported: 1 }, []]);
});

test('a trace that its caller does not keep is passed on as such, and not exported', async (t) => {
  const { endpoint, received } = await collector(t);
  const { tracer } = tracerFor({ endpoint });
  const span = tracer.start('a', { parent: PARENT.replace(/01$/, '00') });
  span.end();
  await tracer.close();
  assert.match(span.traceparent ?? '', /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/);
  assert.equal(received.length, 0);
});

test('where nothing is set, every span is the same one', () => {
  const { tracer } = tracerFor({});
  const span = tracer.start('a', { parent: PARENT });
  assert.equal(span, tracer.start('b'));
  assert.equal(span.traceparent, undefined);
});

test('the variables of OpenTelemetry do, and the configuration wins', () => {
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://base:4318/',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b, x=1',
    OTEL_SERVICE_NAME: 'mine',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  };
  assert.deepEqual(tracingOptions({}, environment), {
    url: 'http://base:4318/v1/traces',
    headers: { 'api-key': 'a b', x: '1' },
    resource: { 'deployment.environment.name': 'test', 'service.name': 'mine' },
  });
  const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://own/x', ...environment };
  assert.equal(tracingOptions({}, own)?.url, 'http://own/x');
  assert.equal(tracingOptions({ endpoint: 'http://c' }, own)?.url, 'http://c/v1/traces');
  assert.equal(tracingOptions({}, { ...own, OTEL_SDK_DISABLED: 'true' }), undefined);
  const grpc = tracingOptions({}, { ...own, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
  assert.match(grpc?.remark ?? '', /exported as http\/json: OTEL_EXPORTER_OTLP_PROTOCOL=grpc/);
  const traces = { ...own, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' };
  assert.match(tracingOptions({}, traces)?.remark ?? '', /OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc/);
  const off = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_TRACES_EXPORTER: 'none' };
  assert.equal(tracingOptions({}, off), undefined);
  assert.ok(tracingOptions({ endpoint: 'http://c:4318' }, off));
});

test('a traceparent that is not as the standard has it counts as none', () => {
  assert.deepEqual(parseTraceparent(PARENT), {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    sampled: true,
  });
  assert.ok(parseTraceparent(`01${PARENT.slice(2)}-more`), 'a later version may have more');
  const wrong = [
    '',
    `ff${PARENT.slice(2)}`,
    `${PARENT}-more`,
    PARENT.toUpperCase(),
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`,
  ];
  for (const header of wrong) assert.equal(parseTraceparent(header), undefined, header);
});

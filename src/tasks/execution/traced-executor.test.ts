import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { context, trace, type Context, type Span as ApiSpan } from '@opentelemetry/api';
import { ActiveSpan, openTelemetryTracer, type Tracer } from '../../base/tracing/index.ts';
import { connect } from '../../client.ts';
import { grpcBinding } from '../../grpc.ts';
import { createAgent, serve } from '../../server.ts';
import { recordedSpans } from '../../../test/support/recorded-spans.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

const agent = createAgent({ name: 'Echo', description: 'Repeats' }, async function* (ctx) {
  if (ctx.text === 'fail') throw new Error('a secret');
  await Promise.resolve();
  trace.getTracer('a library').startSpan('inner').end();
  yield ctx.text;
});

async function use(tracer: Tracer, ...texts: string[]): Promise<void> {
  const server = await serve(agent, { tracer, logger: quiet }).listen(0);
  try {
    const client = await connect(server.url);
    for (const text of texts) await client.send(text);
  } finally {
    await server.close();
  }
}

test('each execution has a span, and a failure no words', async () => {
  const { spans, tracer } = recordedSpans();
  await use(tracer, 'hello', 'fail');
  assert.deepEqual(
    spans.map(({ name, kind, error, ended }) => ({ name, kind, error, ended })),
    [undefined, 'failed'].map((error) => ({
      name: 'invoke_agent Echo',
      kind: 'server',
      error,
      ended: 1,
    })),
  );
  for (const { attributes } of spans) {
    const { 'gen_ai.conversation.id': conversation, ...rest } = attributes;
    assert.match(String(conversation), /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'a2a',
      'gen_ai.agent.name': 'Echo',
    });
  }
});

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test("the caller's traceparent is the parent of the span, over each transport, and an invalid one is ignored", async () => {
  const { spans, tracer } = recordedSpans();
  const options = { tracer, logger: quiet, grpc: grpcBinding() };
  const server = await serve(agent, options).listen(0);
  try {
    for (const binding of ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const) {
      const client = await connect(server.url, { binding });
      for (const traceparent of [PARENT, 'no-traceparent', PARENT.replace('b7', 'B7')]) {
        await client.send('hello', { headers: { traceparent } });
      }
    }
  } finally {
    await server.close();
  }
  const parents = spans.map(({ parent }) => parent);
  const expected = [PARENT, undefined, undefined];
  assert.deepEqual(parents, [...expected, ...expected, ...expected]);
});

test("with OpenTelemetry's API, the spans go to the SDK of the process, and those of the agent are children", async () => {
  const ended: { name: string; parent: string | undefined; attributes: object; status: number }[] =
    [];
  const active = new AsyncLocalStorage<Context>();
  const ROOT = context.active();
  context.setGlobalContextManager({
    active: () => active.getStore() ?? ROOT,
    with: (given, work, self, ...args) => active.run(given, () => work.apply(self, args)),
    bind: (_given, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
  let count = 0;
  trace.setGlobalTracerProvider({
    getTracer: () => ({
      startSpan(name, options = {}, around = context.active()) {
        const spanId = String(++count).padStart(16, '0');
        const parent = trace.getSpanContext(around)?.spanId;
        const record = { name, parent, attributes: { ...options.attributes }, status: 0 };
        const span: ApiSpan = {
          spanContext: () => ({ traceId: '1'.padStart(32, '0'), spanId, traceFlags: 1 }),
          setAttribute: () => span,
          setAttributes: (more) => (Object.assign(record.attributes, more), span),
          addEvent: () => span,
          addLink: () => span,
          addLinks: () => span,
          setStatus: ({ code }) => ((record.status = code), span),
          updateName: () => span,
          end: () => void ended.push(record),
          isRecording: () => true,
          recordException: () => {},
        };
        return span;
      },
      startActiveSpan: () => assert.fail('not used'),
    }),
  });
  await use(await openTelemetryTracer(), 'hello', 'fail');
  const [inner, first, second] = ended;
  assert.deepEqual(
    [inner?.name, first?.name, second?.name],
    ['inner', 'invoke_agent Echo', 'invoke_agent Echo'],
  );
  assert.equal(inner?.parent, '1'.padStart(16, '0'));
  assert.deepEqual([first?.status, second?.status], [0, 2]);
  assert.equal(Object(second?.attributes)['error.type'], 'failed');
  assert.doesNotMatch(JSON.stringify(ended), /secret/);

  const api = await openTelemetryTracer();
  const outer = api.start('outer');
  const nearest = outer.run?.(() => api.start('nearest', { parent: outer.traceparent }));
  const remote = outer.run?.(() => api.start('remote', { parent: PARENT }));
  for (const span of [nearest, remote]) span?.end();
  assert.deepEqual(
    ended.slice(3).map(({ name, parent }) => [name, parent]),
    [
      ['nearest', outer.traceparent?.slice(36, 52)],
      ['remote', PARENT.slice(36, 52)],
    ],
  );

  // The SDK's instrumentation of `fetch` adds the header itself.
  const span = new ActiveSpan(api, 'call', {});
  assert.match(span.traceparentFor('fetch') ?? '', /^00-/);
  const instrumentation = () => {};
  subscribe('undici:request:create', instrumentation);
  assert.equal(span.traceparentFor('fetch'), undefined);
  assert.match(span.traceparentFor('http2') ?? '', /^00-/);
  unsubscribe('undici:request:create', instrumentation);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedSpans, tree } from '../../test/support/recorded-spans.ts';
import { toolOf } from '../../test/support/runs.ts';
import {
  agentTool,
  llmAgent,
  ModelError,
  scriptedModel,
  type Model,
  type ScriptedResponse,
  ToolError,
} from '../agent/index.ts';
import { activeSpan, type Tracer } from '../base/tracing/index.ts';
import { connect } from '../client.ts';
import { grpcBinding } from '../grpc.ts';
import { createAgent, serve } from '../server.ts';
import { remoteAgent, toA2AAgent } from './index.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

const call = (name: string, args = {}): ScriptedResponse[number] => ({ call: { name, args } });

function named(name: string, model: Model): Model {
  return { ...model, name };
}

async function ask(
  agent: Parameters<typeof toA2AAgent>[0],
  tracer: Tracer | undefined,
  ...texts: string[]
): Promise<void> {
  const served = toA2AAgent(agent, { continues: true });
  const server = await serve(served, { ...(tracer && { tracer }), logger: quiet }).listen(0);
  try {
    const client = await connect(server.url);
    for (const text of texts) await client.send(text);
  } finally {
    await server.close();
  }
}

const usage = { inputTokens: 12, outputTokens: 3, cachedTokens: 4 };

test("calls of models and tools are children of the agent's span, with counts and without words", async () => {
  const model = named('google:gemini-x', {
    ...scriptedModel([]),
    async *generate({ messages }) {
      await Promise.resolve();
      const isFirst = messages.length === 1;
      if (isFirst) {
        yield { kind: 'function-call', id: 'c1', name: 'find', args: { city: 'secret-place' } };
      } else yield { kind: 'text', text: 'secret-answer' };
      yield { kind: 'finish', reason: isFirst ? 'tool-calls' : 'stop', usage };
    },
  });
  const find = toolOf('find', () => 'secret-result');
  const generation = { temperature: 0.5, maxOutputTokens: 100 };
  const { spans, tracer } = recordedSpans();
  await ask(llmAgent({ name: 'guide', model, tools: [find], generation }), tracer, 'secret-text');
  assert.deepEqual(tree(spans), [
    'invoke_agent guide',
    'invoke_agent guide > chat gemini-x',
    'invoke_agent guide > execute_tool find',
    'invoke_agent guide > chat gemini-x',
  ]);
  assert.deepEqual(
    spans.map(({ kind, error, ended }) => ({ kind, error, ended })),
    ['server', 'client', undefined, 'client'].map((kind) => ({ kind, error: undefined, ended: 1 })),
  );
  assert.deepEqual(spans[1]?.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'gcp.gemini',
    'gen_ai.request.model': 'gemini-x',
    'gen_ai.request.max_tokens': 100,
    'gen_ai.request.temperature': 0.5,
    'gen_ai.usage.input_tokens': 12,
    'gen_ai.usage.output_tokens': 3,
    'gen_ai.usage.cache_read.input_tokens': 4,
    'gen_ai.response.finish_reasons': ['tool_calls'],
  });
  assert.deepEqual(spans[2]?.attributes, {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'find',
    'gen_ai.tool.call.id': 'c1',
    'gen_ai.tool.type': 'function',
  });
  assert.doesNotMatch(JSON.stringify(spans), /secret/);
});

test('the calls of an agent that runs as a tool are children of the call, also if calls run at the same time', async () => {
  const inner = (name: string) =>
    agentTool(llmAgent({ name, description: name, model: scriptedModel([[{ text: name }]]) }));
  const model = scriptedModel([
    [call('left', { request: 'go' }), call('right', { request: 'go' })],
    [{ text: 'done' }],
  ]);
  const { spans, tracer } = recordedSpans();
  await ask(
    llmAgent({ name: 'host', model, tools: [inner('left'), inner('right')] }),
    tracer,
    'go',
  );
  assert.deepEqual(tree(spans).toSorted(), [
    'invoke_agent host',
    'invoke_agent host > chat scripted',
    'invoke_agent host > chat scripted',
    'invoke_agent host > execute_tool left',
    'invoke_agent host > execute_tool left > chat scripted',
    'invoke_agent host > execute_tool right',
    'invoke_agent host > execute_tool right > chat scripted',
  ]);
});

test('a call that failed has the type of its error, and no words of it', async () => {
  const tools = [
    toolOf('typed', () => Promise.reject(new ToolError('not_found', 'secret'))),
    toolOf('plain', () => Promise.reject(new Error('secret'))),
  ];
  const script = scriptedModel([[call('typed'), call('plain')]]);
  const model: Model = {
    ...script,
    async *generate(request, signal) {
      if (request.messages.length > 1) throw new ModelError('rate-limit', 'secret');
      yield* script.generate(request, signal);
    },
  };
  const { spans, tracer } = recordedSpans();
  await ask(llmAgent({ name: 'a', model, tools }), tracer, 'go');
  assert.deepEqual(spans.map(({ name, error }) => `${name}: ${error ?? 'ok'}`).toSorted(), [
    'chat scripted: ok',
    'chat scripted: rate-limit',
    'execute_tool plain: tool_error',
    'execute_tool typed: not_found',
    'invoke_agent a: failed',
  ]);
  assert.ok(spans.every(({ ended }) => ended === 1));
  assert.doesNotMatch(JSON.stringify(spans), /secret/);
});

test('each turn has a span of its own, and its calls belong to it', async () => {
  const model = scriptedModel([[{ text: 'one' }], [{ text: 'two' }]]);
  const { spans, tracer } = recordedSpans();
  await ask(llmAgent({ name: 'a', model }), tracer, 'first', 'second');
  const [first, , second, last] = spans;
  assert.equal(spans.length, 4);
  assert.equal(last?.parent, second?.traceparent);
  assert.notEqual(first?.traceparent, second?.traceparent);
});

/** Serves an agent that asks a remote one, each with its tracer if it is given, and sends a message with `headers`. */
async function askThroughRemote(
  tracers: { readonly host?: Tracer; readonly remote: Tracer },
  headers: Record<string, string> = {},
  behaviour: () => AsyncIterable<string> = async function* () {
    yield 'sunny';
  },
): Promise<void> {
  const far = createAgent({ name: 'far', description: '' }, behaviour);
  const remote = await serve(far, { tracer: tracers.remote, logger: quiet }).listen(0);
  const agent = toA2AAgent(remoteAgent({ name: 'weather', url: remote.url }));
  const options = { ...(tracers.host && { tracer: tracers.host }), logger: quiet };
  const host = await serve(agent, options).listen(0);
  try {
    await (await connect(host.url)).send('Rain?', { headers });
  } finally {
    await Promise.all([host.close(), remote.close()]);
  }
}

test('a remote agent gets the traceparent of the span for its call', async () => {
  const { spans, tracer } = recordedSpans();
  await askThroughRemote({ host: tracer, remote: tracer });
  assert.deepEqual(tree(spans), [
    'invoke_agent weather',
    'invoke_agent weather > invoke_agent weather',
    'invoke_agent weather > invoke_agent weather > invoke_agent far',
  ]);
  assert.deepEqual(
    spans.map(({ kind, ended }) => [kind, ended]),
    [
      ['server', 1],
      ['client', 1],
      ['server', 1],
    ],
  );
});

test('over gRPC, a remote agent gets the traceparent although fetch adds it to its own requests', async () => {
  const { spans, tracer } = recordedSpans();
  const instrumented: Tracer = {
    start: (...args) => Object.assign(tracer.start(...args), { addsHeader: () => true }),
  };
  const far = createAgent({ name: 'far', description: '' }, async function* () {
    yield 'sunny';
  });
  const remote = await serve(far, { tracer, logger: quiet, grpc: grpcBinding() }).listen(0);
  try {
    const weather = remoteAgent({ name: 'weather', url: remote.url, binding: 'GRPC' });
    await ask(weather, instrumented, 'Rain?');
  } finally {
    await remote.close();
  }
  assert.equal(
    tree(spans).at(-1),
    'invoke_agent weather > invoke_agent weather > invoke_agent far',
  );
});

test('the span of a remote agent that fails has the type of the error', async () => {
  const { spans, tracer } = recordedSpans();
  await askThroughRemote({ host: tracer, remote: tracer }, {}, async function* () {
    yield 'half an answer';
    throw new Error('secret');
  });
  assert.deepEqual(
    spans.map(({ error }) => error),
    ['failed', 'remote-failed', 'failed'],
  );
  assert.doesNotMatch(JSON.stringify(spans), /secret/);
});

test("without a tracer, a remote agent gets the caller's traceparent if it is valid", async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const { spans, tracer } = recordedSpans();
  await askThroughRemote({ remote: tracer }, { traceparent });
  await askThroughRemote({ remote: tracer }, { traceparent: `${traceparent}-more` });
  assert.deepEqual(
    spans.map(({ parent }) => parent),
    [traceparent, undefined],
  );
});

test('without a tracer, there is no span around the calls of models and tools', async () => {
  const around: unknown[] = [];
  const script = scriptedModel([[call('find')], [{ text: 'done' }]]);
  const model: Model = {
    ...script,
    generate: (...given) => (around.push(activeSpan()), script.generate(...given)),
  };
  const find = toolOf('find', () => void around.push(activeSpan()));
  await ask(llmAgent({ name: 'a', model, tools: [find] }), undefined, 'go');
  assert.deepEqual(around, [undefined, undefined, undefined]);
});

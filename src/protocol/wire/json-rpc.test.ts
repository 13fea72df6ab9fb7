import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  A2AError,
  jsonRpcFailure,
  jsonRpcIdOf,
  jsonRpcRequest,
  jsonRpcResult,
  operationOf,
  readJsonRpcRequest,
  readJsonRpcResponse,
  v03,
  v1,
  type Task,
  type WireCodec,
} from '../../protocol.ts';

const task: Task = { kind: 'task', id: 't1', contextId: 'c1', status: { state: 'working' } };

/** What the other side gets. */
function sent(envelope: object): unknown {
  return JSON.parse(JSON.stringify(envelope));
}

/** A server of one operation, made of nothing but what the package exports. */
function answer(codec: WireCodec, raw: unknown): object {
  const id = jsonRpcIdOf(raw);
  try {
    const { method, params } = readJsonRpcRequest(raw);
    if (operationOf(codec.version, method) !== 'getTask') throw new A2AError('methodNotFound');
    const asked = codec.decodeParams('getTask', params);
    if (asked.id !== task.id) throw new A2AError('taskNotFound');
    return jsonRpcResult(id, codec.encodeResult('getTask', task));
  } catch (error) {
    return jsonRpcFailure(codec, id, error instanceof A2AError ? error : new A2AError('internal'));
  }
}

for (const codec of [v03, v1]) {
  test(`${codec.version}: a call is a request and a response, made and read by the exported functions`, () => {
    const request = jsonRpcRequest(codec, 7, 'getTask', { id: 't1' });
    assert.equal(request.method, codec.version === '0.3' ? 'tasks/get' : 'GetTask');
    const response = sent(answer(codec, sent(request)));
    assert.equal(jsonRpcIdOf(response), 7);
    const result = codec.decodeResult('getTask', readJsonRpcResponse(codec, response));
    assert.deepEqual([result.id, result.status.state], ['t1', 'working']);
  });

  test(`${codec.version}: an error in a response is thrown as an A2AError`, () => {
    const request = jsonRpcRequest(codec, 'a', 'getTask', { id: 'other' });
    const response = sent(answer(codec, sent(request)));
    assert.throws(() => readJsonRpcResponse(codec, response), { kind: 'taskNotFound' });
  });
}

test('a bad envelope is an invalid request, and its answer has the id where there is one', () => {
  const cases: [raw: unknown, id: string | number | null][] = [
    [[], null],
    ['x', null],
    [{ jsonrpc: '1.0', id: 1, method: 'GetTask' }, 1],
    [{ jsonrpc: '2.0', id: 'a', method: 7 }, 'a'],
    [{ jsonrpc: '2.0', id: {}, method: 'GetTask' }, null],
    [{ jsonrpc: '2.0', id: 'x'.repeat(257), method: 'GetTask' }, null],
    [JSON.parse('{"jsonrpc":"2.0","id":9007199254740993,"method":"GetTask"}'), null],
    [JSON.parse('{"jsonrpc":"2.0","id":-9007199254740992,"method":"GetTask"}'), null],
    [JSON.parse('{"jsonrpc":"2.0","id":1e400,"method":"GetTask"}'), null],
  ];
  for (const [raw, id] of cases) {
    assert.throws(() => readJsonRpcRequest(raw), { kind: 'invalidRequest' }, JSON.stringify(raw));
    assert.equal(jsonRpcIdOf(raw), id);
  }
  assert.equal(readJsonRpcRequest({ jsonrpc: '2.0', method: 'x' }).id, null);
  assert.throws(() => readJsonRpcResponse(v1, []), { kind: 'invalidAgentResponse' });
});

test('an id that JSON can repeat exactly is kept, also with a fraction', () => {
  for (const id of [0, -1, 1.5, 0.1, 2 ** 53 - 1, 1 - 2 ** 53, 'a', '']) {
    const text = JSON.stringify({ jsonrpc: '2.0', id, method: 'GetTask' });
    assert.equal(readJsonRpcRequest(JSON.parse(text)).id, id);
    assert.equal(jsonRpcIdOf(JSON.parse(text)), id);
  }
});

test('the code -32000, which JSON-RPC leaves to servers, is an error of its own kind', () => {
  const error = { code: -32000, message: 'server error' };
  for (const codec of [v03, v1]) {
    const read = (): unknown => readJsonRpcResponse(codec, { jsonrpc: '2.0', id: 1, error });
    assert.throws(read, { kind: 'serverError', code: -32000, message: 'server error' });
  }
});

/** The tables of the protocol, against what WIRE.md and the specification say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  A2AError,
  ERRORS,
  kindOfCode,
  kindOfReason,
  taskNotFound,
  type ErrorKind,
} from './errors.ts';
import { METHODS, operationOf, OPERATIONS } from './methods.ts';
import { TaskState } from './task.ts';
import { isInterrupted, isSettled, isTerminal } from './task-state.ts';
import { versionOf } from './version.ts';

test('every error has its code and its HTTP status', () => {
  const expected: Partial<Record<ErrorKind, readonly [number, number]>> = {
    parse: [-32700, 400],
    invalidRequest: [-32600, 400],
    tooLarge: [-32600, 413],
    methodNotFound: [-32601, 404],
    invalidParams: [-32602, 400],
    internal: [-32603, 500],
    serverError: [-32000, 500],
    taskNotFound: [-32001, 404],
    taskNotCancelable: [-32002, 400],
    pushNotSupported: [-32003, 400],
    unsupportedOperation: [-32004, 400],
    contentTypeNotSupported: [-32005, 400],
    invalidAgentResponse: [-32006, 500],
    extendedCardNotConfigured: [-32007, 400],
    extensionRequired: [-32008, 400],
    versionNotSupported: [-32009, 400],
    unauthenticated: [-31401, 401],
    forbidden: [-31403, 403],
  };
  for (const [kind, pair] of Object.entries(expected)) {
    const error = new A2AError(kind as ErrorKind);
    assert.deepEqual([error.code, error.httpStatus], pair, kind);
  }
});

test('a code and a reason lead back to their kind; unknown codes are internal errors', () => {
  for (const kind of Object.keys(ERRORS) as ErrorKind[]) {
    assert.equal(kindOfReason(new A2AError(kind).reason), kind);
    assert.equal(new A2AError(kindOfCode(ERRORS[kind].code)).code, ERRORS[kind].code);
  }
  assert.equal(kindOfCode(-32600), 'invalidRequest');
  assert.equal(kindOfCode(-32000), 'serverError');
  assert.equal(kindOfCode(-1), 'internal');
  assert.equal(kindOfReason('NO_SUCH_REASON'), undefined);
  assert.equal(taskNotFound('t').detail.info?.['taskId'], 't');
});

test('names of methods belong to one version, and nothing else is a method', () => {
  for (const operation of OPERATIONS) {
    const { names } = METHODS[operation];
    assert.equal(operationOf('0.3', names['0.3']), operation);
    assert.equal(operationOf('1.0', names['1.0']), operation);
    assert.equal(operationOf('0.3', names['1.0']), undefined);
    assert.equal(operationOf('1.0', names['0.3']), undefined);
  }
  for (const name of ['', 'toString', '__proto__', 'sendMessage']) {
    assert.equal(operationOf('0.3', name), undefined);
    assert.equal(operationOf('1.0', name), undefined);
  }
});

test('REST paths of 0.3 begin with /v1, those of 1.0 do not', () => {
  for (const operation of OPERATIONS) {
    const { rest } = METHODS[operation];
    for (const { path } of rest['0.3']) assert.match(path, /^\/v1\//);
    for (const { path } of rest['1.0']) assert.doesNotMatch(path, /^\/v1/);
  }
});

test('ten states: four are terminal, two wait for somebody', () => {
  const { options } = TaskState;
  assert.equal(options.length, 10);
  assert.deepEqual(options.filter(isTerminal), ['completed', 'canceled', 'failed', 'rejected']);
  assert.deepEqual(options.filter(isInterrupted), ['input-required', 'auth-required']);
  assert.equal(options.filter(isSettled).length, 6);
});

test('a version is its major and minor number', () => {
  for (const text of ['1.0', '1.0.0', '1.0.3', ' 1.0 ', '1.0.999'])
    assert.equal(versionOf(text), '1.0');
  for (const text of ['0.3', '0.3.0', '0.3.17']) assert.equal(versionOf(text), '0.3');
  for (const text of ['', '1', '1.1', '2.0', '0.2.6', '1.0.x', '1.0.', '1.0.0.0', 'v1.0', '01.0']) {
    assert.equal(versionOf(text), undefined, text);
  }
});

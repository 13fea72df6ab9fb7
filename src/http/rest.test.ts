import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchRest } from './rest.ts';

const PUSH = '/tasks/T/pushNotificationConfigs';

test('every route of both versions leads to its operation', () => {
  for (const [verb, path, action] of [
    ['POST', '/message:send', 'sendMessage'],
    ['POST', '/message:stream', 'streamMessage'],
    ['GET', '/tasks/T', 'getTask'],
    ['GET', '/tasks', 'listTasks'],
    ['POST', '/tasks/T:cancel', 'cancelTask'],
    ['POST', '/tasks/T:subscribe', 'subscribe'],
    ['GET', '/tasks/T:subscribe', 'subscribe'],
    ['POST', PUSH, 'setPushConfig'],
    ['GET', PUSH, 'listPushConfigs'],
    ['GET', `${PUSH}/C`, 'getPushConfig'],
    ['DELETE', `${PUSH}/C`, 'deletePushConfig'],
    ['GET', '/tasks/T/events', 'readLog'],
  ] as const) {
    const values = {
      ...(path.includes('T') && { id: 'T' }),
      ...(path.endsWith('/C') && { pushNotificationConfigId: 'C' }),
    };
    const current = { action, version: '1.0', values, tenant: undefined };
    assert.deepEqual(matchRest(verb, path), current, path);
    assert.deepEqual(matchRest(verb, `/v1${path}`), { ...current, version: '0.3' });
    assert.deepEqual(matchRest(verb, `/acme${path}`), { ...current, tenant: 'acme' });
    assert.equal(matchRest(verb, `/acme/v1${path}`), undefined, 'only 1.0 knows tenants');
    assert.equal(matchRest(verb, `/a/b${path}`), undefined);
  }
  assert.partialDeepStrictEqual(matchRest('GET', '/extendedAgentCard'), {
    action: 'getExtendedCard',
  });
  assert.partialDeepStrictEqual(matchRest('GET', '/v1/card'), { action: 'getExtendedCard' });
  assert.equal(matchRest('GET', '/card'), undefined);
});

test('ids are decoded once, and may have a colon', () => {
  const idOf = (path: string) => {
    const found = matchRest('GET', path);
    return found && 'values' in found ? found.values['id'] : undefined;
  };
  assert.equal(idOf('/tasks/a%2Fb'), 'a/b');
  assert.equal(idOf('/tasks/a%252Fb'), 'a%2Fb');
  assert.equal(idOf('/tasks/a:b'), 'a:b');
  assert.equal(idOf('/tasks/a:b:subscribe'), 'a:b');
  assert.throws(() => idOf('/tasks/%zz'), { kind: 'invalidParams' });
});

test('a path with other verbs says which', () => {
  const allow = ['POST'];
  assert.deepEqual(matchRest('PUT', '/message:send'), { allow, version: '1.0' });
  assert.deepEqual(matchRest('PUT', '/v1/message:send'), { allow, version: '0.3' });
  assert.deepEqual(matchRest('PUT', '/acme/message:send'), { allow, version: '1.0' });
  assert.equal(matchRest('PUT', '/acme/v1/message:send'), undefined);
  assert.equal(matchRest('GET', '/nowhere'), undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testGateway } from '../../../test/support/gateway-keys.ts';

const entry = (workspace: string, subject: string) => ({
  workspace,
  actor: 'cli',
  action: 'card.update',
  subject,
});

test('the audit log has the newest first, page by page, of one workspace', () => {
  using gateway = testGateway();
  for (const subject of ['a', 'b', 'c']) {
    gateway.audit.record(entry('one', subject));
    gateway.audit.record(entry('two', subject.toUpperCase()));
  }
  const [c, b] = gateway.audit.list('one', { limit: 2 });
  assert.deepEqual(c, {
    number: 3,
    at: '2026-11-15T12:00:00.000Z',
    actor: 'cli',
    action: 'card.update',
    subject: 'c',
  });
  assert.equal(b?.subject, 'b');
  const rest = gateway.audit.list('one', { limit: 2, before: b?.number });
  assert.deepEqual(
    rest.map(({ subject }) => subject),
    ['a'],
  );
});

test('the audit log keeps so many entries of a workspace, and puts the oldest out', () => {
  using gateway = testGateway({ keepAudit: 3 });
  gateway.audit.record(entry('quiet', 'kept'));
  for (let at = 1; at <= 10; at++) gateway.audit.record(entry('busy', `${at}`));
  const subjects = (workspace: string) =>
    gateway.audit.list(workspace, { limit: 100 }).map(({ subject }) => subject);
  assert.deepEqual(subjects('busy'), ['10', '9', '8']);
  assert.deepEqual(subjects('quiet'), ['kept']);
});

test('an entry keeps the facts that it was given', () => {
  using gateway = testGateway();
  const detail = { name: "O'Brien", nested: { scopes: ['*'] } };
  gateway.audit.record({ ...entry('one', 'x'), detail });
  assert.deepEqual(gateway.audit.list('one', { limit: 1 })[0]?.detail, detail);
});

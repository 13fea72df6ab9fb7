import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acpAuthentication } from './setup.ts';

const authenticate = (model: string, environment = {}) =>
  acpAuthentication(model, environment).authenticate('environment');

test('the offline model needs no key, and a model with its key is ready', () => {
  assert.equal(authenticate('offline'), undefined);
  assert.equal(authenticate('google:gemini-3.8-flash', { GEMINI_API_KEY: 'k' }), undefined);
});

test('a missing key and a wrong name are problems, and the message says what to do', () => {
  assert.match(authenticate('google:gemini-3.8-flash') ?? '', /needs GEMINI_API_KEY: set it/);
  assert.match(authenticate('nonsense') ?? '', /unknown model "nonsense"/);
});

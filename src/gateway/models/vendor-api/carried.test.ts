import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeCarried, encodeCarried, isCarried } from './carried.ts';

test('data of a vendor comes back as it was, with the call that it belongs to', () => {
  const provider = { google: { thoughtSignature: 'c2ln' } };
  const text = encodeCarried({ provider, callId: 'call_1' });
  assert(isCarried(text));
  assert.deepEqual(decodeCarried(text), { provider, callId: 'call_1' });
});

test('a client cannot add options of the vendor to a request', () => {
  const forged = {
    google: { thoughtSignature: 'c2ln', cachedContent: 'x' },
    openai: { store: true },
  };
  const text = `parley.${Buffer.from(JSON.stringify(forged)).toString('base64url')}`;
  assert.deepEqual(decodeCarried(text), { provider: { google: { thoughtSignature: 'c2ln' } } });
  for (const bad of ['parley.', 'parley.e30', 'parley.!!', 'parley.bnVsbA', 'other']) {
    assert.equal(decodeCarried(bad), undefined);
  }
});

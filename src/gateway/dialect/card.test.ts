import assert from 'node:assert/strict';
import { isObject } from '../../base/index.ts';
import { test } from 'node:test';
import { AgentCard, codecOf, VERSIONS } from '../../protocol/index.ts';
import { encodeCard, makeCard } from '../../http/card.ts';
import { GATEWAY_CARD, gatewayProfile } from './card.ts';

const weather = {
  id: 'weather/forecast',
  name: 'Forecast',
  description: 'Says how it will be',
  tags: ['weather'],
};

function made(): AgentCard {
  const offered = { push: true, extendedCard: false, authenticated: true, versions: VERSIONS };
  const profile = gatewayProfile('1.2.3', [weather]);
  return makeCard(profile, 'https://gateway.example.com', offered, GATEWAY_CARD);
}

test("the card that needs no version has every field of the dialect's", () => {
  const shown: unknown = JSON.parse(encodeCard(made(), undefined, VERSIONS).body);
  assert.ok(isObject(shown) && Array.isArray(shown['skills']) && isObject(shown['capabilities']));
  assert.equal(shown['name'], 'Parley Gateway');
  assert.equal(shown['url'], 'https://gateway.example.com');
  assert.equal(shown['version'], '1.2.3');
  assert.deepEqual(shown['authentication'], { schemes: ['Bearer', 'APIKey'] });
  const { streaming, pushNotifications, stateTransitionHistory } = shown['capabilities'];
  assert.deepEqual([streaming, pushNotifications, stateTransitionHistory], [true, true, true]);
  const [chat] = shown['skills'] as unknown[];
  assert.ok(isObject(chat) && isObject(chat['input']) && isObject(chat['output']));
  assert.equal(chat['id'], 'chat-completion');
  assert.deepEqual(chat['tags'], ['llm', 'chat']);
  assert.deepEqual(chat['examples'], ['Summarize this text', 'Answer this question']);
  assert.equal(chat['input']['type'], 'object');
  assert.deepEqual(chat['input']['required'], ['messages']);
});

test('the skills of the agents behind it come after its own', () => {
  assert.deepEqual(made().skills.slice(1), [weather]);
});

for (const version of VERSIONS) {
  test(`an A2A client of ${version} reads the card: both ways to sign in, and the schemas of the skill`, () => {
    const codec = codecOf(version, 'JSONRPC');
    const { body } = encodeCard(made(), version, VERSIONS);
    const read = codec.decodeCard(JSON.parse(body));
    assert.deepEqual(read.securitySchemes, GATEWAY_CARD.securitySchemes);
    assert.deepEqual(read.security, GATEWAY_CARD.security);
    assert.deepEqual(read.skills[0]?.['input'], made().skills[0]?.['input']);
  });
}

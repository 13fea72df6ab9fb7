import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openRegister } from '../register/sqlite-register.ts';
import { createDialler } from './dialler.ts';
import { createAgentRegistry } from './registry.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const dialler = createDialler([]);
after(() => dialler.close());

test('an agent that was changed again meanwhile is not replaced by the earlier change', () => {
  const register = openRegister(undefined, quiet);
  const route = dialler.guarded;
  const registry = createAgentRegistry({ register, secrets: undefined, route, logger: quiet });
  const description = () => registry.find('w', 'a')?.settings.description;
  const url = 'https://agent.test';
  const draft = (given: string) => registry.draft('w', 'a', { url, description: given }, undefined);
  const first = draft('first');
  register.change(() => first.save(true));
  registry.remember('w', first);
  assert.equal(registry.find('w', 'a'), first.agent, 'the object with the card is kept');
  const second = draft('second');
  register.change(() => second.save(false));
  // Another gateway, or another request, changes the agent before this one remembers its own change.
  const third = draft('third');
  register.change(() => third.save(false));
  registry.remember('w', second);
  assert.equal(description(), 'third');
  register.close();
});

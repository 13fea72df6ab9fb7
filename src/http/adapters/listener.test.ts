import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgent } from '../../tasks/index.ts';
import { serve } from '../../server.ts';

test('a port in use is an error that says what to do, with the code and the cause', async (t) => {
  const echo = createAgent({ name: 'Echo', description: 'Repeats' }, async function* () {
    yield 'hi';
  });
  const listening = await serve(echo).listen(0);
  const { port } = listening;
  t.after(() => listening.close(0));
  await assert.rejects(serve(echo).listen(port), (error: NodeJS.ErrnoException) => {
    const advice = 'stop the program that uses it, or choose another port (0 picks a free one)';
    assert.equal(error.message, `port ${port} is in use: ${advice}`);
    assert.equal(error.code, 'EADDRINUSE');
    assert.equal(Reflect.get(Object(error.cause), 'syscall'), 'listen');
    return true;
  });
});

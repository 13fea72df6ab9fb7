import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandVariables } from './expand-variables.ts';

const variables = { TOKEN: 'secret', HOST: 'h.example', EMPTY: '' };

test('variables are replaced in every field of a server, as other products do it', () => {
  assert.deepEqual(
    expandVariables(
      {
        command: '${HOST}',
        args: ['--key=$TOKEN', '${EMPTY:-none}', '${MISSING:-}', '$MISSING', '$5', 'a$'],
        env: { A: '${env:TOKEN}' },
        cwd: '/srv/${HOST}',
      },
      variables,
    ),
    {
      command: 'h.example',
      args: ['--key=secret', 'none', '', '$MISSING', '$5', 'a$'],
      env: { A: 'secret' },
      cwd: '/srv/h.example',
    },
  );
  assert.deepEqual(
    expandVariables(
      { url: 'https://${HOST}/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
      variables,
    ),
    { url: 'https://h.example/mcp', headers: { Authorization: 'Bearer secret' } },
  );
});

test('a variable that is not set and has no default is an error', () => {
  assert.throws(
    () => expandVariables({ url: 'https://${MISSING}' }, variables),
    /the environment variable MISSING is not set/,
  );
});

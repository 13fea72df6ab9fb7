import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretHider } from './mcp-secrets.ts';

test('what a server repeats of its headers, its query and its password is hidden', () => {
  const hide = secretHider({
    name: 'srv',
    url: 'https://ann:pa55word@srv.example/mcp?key=query%2Fsecret&page=1',
    headers: { Authorization: 'Token header-secret', 'X-Version': '1' },
  });
  assert.equal(
    hide('bad: Token header-secret at /mcp?key=query%2Fsecret&page=1, query/secret, pa55word'),
    'bad: *** at /mcp?key=***&page=1, ***, ***',
  );
  assert.equal(hide('header-secret 1'), '*** 1');
  assert.equal(hide('Authorization: Bearer of.a-login='), 'Authorization: Bearer ***');
});

test('what a program repeats of its variables and its keys is hidden, and paths are shown', () => {
  const hide = secretHider({
    name: 'srv',
    command: 'srv',
    args: ['--api-key=argument', '--token', 'following', '--folder=projects'],
    env: { KEY: 'variable', HOME: '/home/ann' },
  });
  assert.equal(
    hide('argument following variable /home/ann projects'),
    '*** *** *** /home/ann projects',
  );
});

import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { serverSigning, type SigningSetup } from './server-process.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-signing-'));
after(() => rmSync(folder, { recursive: true }));

function setup(given: Partial<SigningSetup> = {}) {
  const warnings: string[] = [];
  const log = {
    debug() {},
    info() {},
    warn: (_: object, message: string) => void warnings.push(message),
    error() {},
    flush: async () => {},
  };
  const environment = { PARLEY_HOME: path.join(folder, 'home') };
  return { warnings, setup: { memory: false, environment, log, ...given } };
}

test('a server with a stored database has a key in the data folder, for its owner only', () => {
  const { setup: given } = setup();
  const first = serverSigning(given).signing;
  const file = path.join(folder, 'home', 'signing-key.pem');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(first && serverSigning(given).signing?.kid === first.kid);
  const { signing } = serverSigning({ ...given, memory: true, file });
  assert.equal(signing?.kid, first.kid);
});

test('a key file to which other users have access is used, with a warning', () => {
  const environment = { PARLEY_HOME: path.join(folder, 'exposed') };
  const file = path.join(folder, 'exposed', 'signing-key.pem');
  const { warnings, setup: given } = setup({ environment });
  const first = serverSigning(given).signing;
  assert.deepEqual(warnings, []);
  chmodSync(file, 0o644);
  assert.equal(serverSigning(given).signing?.kid, first?.kid);
  assert.equal(serverSigning({ ...given, file }).signing?.kid, first?.kid);
  const warning = `other users have access to ${file}, which has the private key of this server: run chmod 600 ${file}`;
  assert.deepEqual(warnings, [warning, warning]);
});

test('a server in memory writes nothing', () => {
  const environment = { PARLEY_HOME: path.join(folder, 'unused') };
  assert.deepEqual(serverSigning(setup({ memory: true, environment }).setup), {});
  assert.ok(!readdirSync(folder).includes('unused'));
});

test('a bad key file is refused in one line, and a data folder that cannot be written is a warning', () => {
  const bad = path.join(folder, 'bad.pem');
  writeFileSync(bad, 'not a key');
  assert.throws(() => serverSigning(setup({ file: bad }).setup), {
    message:
      /^--sign-key .*bad\.pem: there is no key in PEM or JWK format: create one with: openssl/,
  });
  const none = path.join(folder, 'none.pem');
  assert.throws(() => serverSigning(setup({ file: none }).setup), {
    message: /^--sign-key .*: there is no such file: create one with: openssl/,
  });

  // A folder cannot be made below a file.
  const { warnings, setup: given } = setup({
    environment: { PARLEY_HOME: path.join(bad, 'home') },
  });
  assert.deepEqual(serverSigning(given), {});
  assert.match(
    warnings.join('\n'),
    /webhooks with a temporary key\. The server does not sign its agent cards, so clients that verify signatures refuse the cards: set PARLEY_HOME/,
  );

  const home = path.join(folder, 'broken');
  serverSigning(setup({ environment: { PARLEY_HOME: home } }).setup);
  writeFileSync(path.join(home, 'signing-key.pem'), 'damaged');
  assert.throws(() => serverSigning(setup({ environment: { PARLEY_HOME: home } }).setup), {
    message: /signing-key\.pem: there is no key/,
  });
});

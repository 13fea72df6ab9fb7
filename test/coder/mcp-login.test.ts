/** The login to an MCP server with OAuth, and its tokens in sessions. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { logInToMcpServer, logOutOfMcpServer } from '../../src/coder/session/mcp-login.ts';
import { oauthFetch, type LoginPlace } from '../../src/coder/session/mcp-logins.ts';
import { mcpTools } from '../../src/coder/session/mcp-tools.ts';
import { askingGuard } from '../support/mcp-guard.ts';
import mcpCommand from '../../src/cli/commands/mcp.ts';
import { SecretBox, secretKeys } from '../../src/store/secrets.ts';
import { tries } from '../support/interop-table.ts';
import { startOAuthServer } from '../support/oauth-server.ts';
import { startMcp } from './mcp-http.ts';
import { makePlace } from './support.ts';

/** An MCP server that wants a token of an authorization server. */
async function protectedServer(t: TestContext) {
  const oauth = await startOAuthServer(t);
  const metadata = '/.well-known/oauth-protected-resource/mcp';
  const mcp = await startMcp(t, undefined, 0, (incoming, outgoing) => {
    const origin = `http://${incoming.headers.host}`;
    if (incoming.url === metadata) {
      const resource = { resource: `${origin}/mcp`, authorization_servers: [oauth.url] };
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify(resource));
      return true;
    }
    if (oauth.isValid(incoming.headers.authorization)) return false;
    const challenge = `Bearer resource_metadata="${origin}${metadata}"`;
    outgoing.writeHead(401, { 'www-authenticate': challenge }).end();
    return true;
  });
  return { oauth, server: { url: mcp.url } };
}

/** A person who follows the URL in a browser. */
function browse(url: URL): void {
  void fetch(url);
}

async function status(t: TestContext, server: { url: string }, logins: LoginPlace) {
  const mcp = mcpTools(
    { linear: server },
    {
      guard: askingGuard(),
      cwd: '/',
      log: () => {},
      notify: () => {},
      logins,
    },
  );
  t.after(() => mcp.close());
  const [found] = await mcp.status(AbortSignal.timeout(20_000));
  return found?.problem ?? `${(found?.tools.length ?? 0) > 5}`;
}

const { signal } = new AbortController();

/** The path of the only stored login. There is also a lock file, which is hidden. */
function loginFile(dataFolder: string): string {
  const folder = join(dataFolder, 'mcp-logins');
  const [file = '', ...others] = readdirSync(folder).filter((name) => !name.startsWith('.'));
  assert.deepEqual(others, []);
  return join(folder, file);
}

test('a server that wants a login is unavailable and says what to run, and nothing is opened or registered', async (t) => {
  const { oauth, server } = await protectedServer(t);
  const { home: dataFolder } = makePlace(t);
  assert.match(
    await status(t, server, { dataFolder }),
    /the MCP server linear is unavailable: it requires a login: run parley mcp login linear$/,
  );
  assert.deepEqual(oauth.asked, []);
});

test('after a login the tokens are stored for the user only, used and refreshed, until they are refused', async (t) => {
  tries(t, {
    protocol: 'MCP',
    peer: '@modelcontextprotocol/server 2.4.0 with OAuth',
    role: 'server',
    operation: 'oauth',
  });
  const { oauth, server } = await protectedServer(t);
  const { home: dataFolder } = makePlace(t);
  await logInToMcpServer({ dataFolder, name: 'linear', server, show: browse, signal });
  assert.deepEqual(oauth.asked, ['register', 'authorize', 'token authorization_code']);
  const file = loginFile(dataFolder);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(await status(t, server, { dataFolder }), 'true');

  oauth.expire();
  const both = [status(t, server, { dataFolder }), status(t, server, { dataFolder })];
  assert.deepEqual(await Promise.all(both), ['true', 'true']);
  assert.deepEqual(oauth.asked.slice(3), ['token refresh_token']);

  oauth.expire('all');
  assert.match(await status(t, server, { dataFolder }), /run parley mcp login linear$/);

  const other = { url: server.url.replace('127.0.0.1', 'localhost') };
  await logInToMcpServer({ dataFolder, name: 'linear', server, show: browse, signal });
  assert.match(await status(t, other, { dataFolder }), /requires a login/, 'another address');
  assert.equal(await logOutOfMcpServer({ dataFolder, name: 'linear', server }), true);
  assert.match(await status(t, server, { dataFolder }), /requires a login/);
});

test('a damaged file counts as no login, and the next login replaces it', async (t) => {
  const { server } = await protectedServer(t);
  const { home: dataFolder } = makePlace(t);
  await logInToMcpServer({ dataFolder, name: 'linear', server, show: browse, signal });
  const file = loginFile(dataFolder);
  writeFileSync(file, '{"client":');
  assert.match(await status(t, server, { dataFolder }), /run parley mcp login linear$/);
  await logInToMcpServer({ dataFolder, name: 'linear', server, show: browse, signal });
  assert.equal(await status(t, server, { dataFolder }), 'true');
});

test('a redirect with another state is not taken', async (t) => {
  const { server } = await protectedServer(t);
  const { home: dataFolder } = makePlace(t);
  const stop = new AbortController();
  const login = logInToMcpServer({
    dataFolder,
    name: 'linear',
    server,
    show(url) {
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      assert.equal(back.hostname, '127.0.0.1');
      back.search = '?code=stolen&state=guessed';
      void fetch(back).then(({ status: code }) => stop.abort(new Error(`HTTP ${code}`)));
    },
    signal: stop.signal,
  });
  await assert.rejects(login, /HTTP 404/);
});

test('a request that is not the redirect does not end the login', async (t) => {
  const { server } = await protectedServer(t);
  const { home: dataFolder } = makePlace(t);
  const codes: (number | undefined)[] = [];
  await logInToMcpServer({
    dataFolder,
    name: 'linear',
    server,
    show(url) {
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      const paths = [
        '//',
        `//${back.host}:x/`,
        `/other?code=x&state=${url.searchParams.get('state')}`,
      ];
      for (const path of paths) {
        request(back, { path }, ({ statusCode }) => {
          if (codes.push(statusCode) === paths.length) browse(url);
        }).end();
      }
    },
    signal,
  });
  assert.deepEqual(codes, [404, 404, 404]);
});

test('parley mcp login prints the URL of the login, and names the servers if there is no such server', async (t) => {
  const { server } = await protectedServer(t);
  const place = makePlace(t);
  const config = join(place.home, 'parley');
  mkdirSync(config);
  const open = { url: (await startMcp(t)).url };
  const closed = await startMcp(t);
  await closed.stop();
  const mcpServers = {
    linear: server,
    files: { command: 'files' },
    open,
    closed: { url: closed.url },
  };
  writeFileSync(join(config, 'settings.json'), JSON.stringify({ mcpServers }));
  const environment = { XDG_CONFIG_HOME: place.home, PARLEY_HOME: place.home };
  const run = (...args: string[]) => mcpCommand('parley mcp', args, environment);
  await assert.rejects(
    run('login', 'liner'),
    /no MCP server "liner".*: linear, files, open, closed$/,
  );
  await assert.rejects(run('list', 'linear'), /unknown action "list"/);

  const printed: string[] = [];
  t.mock.method(process.stdout, 'write', (text: string) => printed.push(text) > 0);
  t.mock.method(process.stderr, 'write', (text: string) => {
    const [url] = /http:\/\/\S*authorize\?[\w.~%&=+-]*/.exec(text) ?? [];
    if (url !== undefined) browse(new URL(url));
    return printed.push(text) > 0;
  });
  assert.equal(await run('login', 'linear', '--no-browser'), 0);
  assert.equal(await run('login', 'open'), 1);
  assert.equal(await run('login', 'closed'), 1);
  assert.equal(await run('login', 'files'), 1);
  assert.equal(await run('logout', 'files'), 1);
  assert.equal(await run('logout', 'linear'), 0);
  t.mock.restoreAll();
  assert.match(
    printed.join(''),
    /login to open failed: 127\.0\.0\.1:\d+ did not register Parley as a client: set oauth\.clientId in the settings; the MCP server did not ask for a login\n/,
  );
  assert.match(printed.join(''), /login to closed failed: fetch failed: connect ECONNREFUSED/);
  assert.match(
    printed.join(''),
    /Logged in to linear[^]*login to files failed: it is a program[^]*logout from files failed[^]*Logged out of linear/,
  );
});

test('with a secret key the login is encrypted, and another key does not read it', async (t) => {
  const { server } = await protectedServer(t);
  const { home: dataFolder } = makePlace(t);
  const sealer = (salt: Uint8Array) => new SecretBox(secretKeys({ secretKey: 'a key' }), salt);
  await logInToMcpServer({ dataFolder, sealer, name: 'linear', server, show: browse, signal });
  const file = loginFile(dataFolder);
  const text = readFileSync(file, 'utf8');
  assert.doesNotMatch(text, /token/);
  assert.equal(await status(t, server, { dataFolder, sealer }), 'true');
  assert.match(await status(t, server, { dataFolder }), /requires a login/);
});

test('an authorization server in a private network is asked only for a server there', async (t) => {
  const { oauth, server } = await protectedServer(t);
  const register = `${oauth.url}/register`;
  await assert.rejects(oauthFetch('https://mcp.example/mcp', {})(register));
  const allowNetworks = ['127.0.0.0/8'];
  for (const [url, place] of [
    ['https://mcp.example/mcp', { allowNetworks }],
    [server.url.replace('127.0.0.1', 'localhost'), {}],
  ] as const) {
    const { status: code } = await oauthFetch(url, place)(register, { method: 'POST', body: '{}' });
    assert.equal(code, 201);
  }
});

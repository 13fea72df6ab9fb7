import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { JsonObject } from '../../base/index.ts';
import { gzipSync } from 'node:zlib';
import { toolContext } from '../../../test/support/tool-context.ts';
import { RichResponse } from '../../agent/tool.ts';
import { ToolError } from '../../agent/tool-error.ts';
import type { FetchPageOptions } from '../web/fetch-page.ts';
import { fetchUrlTool } from './fetch-url.ts';

const CUT = 'The page is longer. This is its start.';
const OPEN: FetchPageOptions = { allowNetworks: ['127.0.0.0/8'] };

async function site(t: TestContext, listener: RequestListener): Promise<string> {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fetched(url: string, options = OPEN, context = toolContext()): Promise<JsonObject> {
  const result = await fetchUrlTool(options).run({ url }, context);
  return (result instanceof RichResponse ? result.response : result) as JsonObject;
}

test('a page is fetched and made readable', async (t) => {
  const origin = await site(t, (request, response) => {
    response.setHeader('content-type', 'text/html; charset=iso-8859-1');
    response.end(Buffer.from(`<h1>Caf\u00e9</h1><a href="/x">${request.url}</a>`, 'latin1'));
  });
  const page = await fetched(`${origin}/menu`);
  assert.deepEqual(page, {
    url: `${origin}/menu`,
    status: 200,
    content_type: 'text/html',
    text: `# Café\n/menu (${origin}/x)`,
  });
});

test('text and JSON come as they are, compressed or not, with the status', async (t) => {
  const origin = await site(t, (_request, response) => {
    response.writeHead(201, {
      'content-type': 'application/problem+json',
      'content-encoding': 'gzip',
    });
    response.end(gzipSync('{"a": "<b>"}'));
  });
  const page = await fetched(origin);
  assert.deepEqual([page['status'], page['text']], [201, '{"a": "<b>"}']);
});

for (const [status, type] of [
  [404, 'not_found'],
  [403, 'denied'],
  [500, 'network'],
] as const) {
  test(`a page with the status ${status} is an error (${type}), and the model still reads it`, async (t) => {
    const origin = await site(t, (_request, response) => {
      response.writeHead(status, { 'content-type': 'text/plain' });
      response.end('what is wrong');
    });
    await assert.rejects(fetched(origin), (error) => {
      assert.ok(error instanceof ToolError);
      assert.deepEqual([error.type, error.statusCode], [type, status]);
      assert.match(error.message, new RegExp(`^${status} text/plain, 13 bytes from `));
      assert.match(JSON.stringify(error.response), /"text":"what is wrong"/);
      return true;
    });
  });
}

test('an error page that is not text is an error with its status, without its content', async (t) => {
  const origin = await site(t, (_request, response) => {
    response.writeHead(404, { 'content-type': 'image/png' });
    response.end('no picture');
  });
  await assert.rejects(fetched(origin), (error) => {
    assert.ok(error instanceof ToolError);
    assert.deepEqual([error.type, error.statusCode], ['not_found', 404]);
    assert.match(error.message, /^404 image\/png, 10 bytes from /);
    assert.deepEqual(error.response, {
      url: `${origin}/`,
      status: 404,
      content_type: 'image/png',
      note: 'The content of the page is not text, so it is left out.',
    });
    return true;
  });
});

test('private addresses are closed, in every notation', async (t) => {
  let requests = 0;
  const origin = await site(t, (_request, response) => {
    requests++;
    response.end('secret');
  });
  const { port } = new URL(origin);
  for (const host of [
    '127.0.0.1',
    'localhost',
    'a.localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0x7f.1',
    '2130706433',
    '0.0.0.0',
    '169.254.169.254',
    '10.0.0.1',
  ]) {
    await assert.rejects(fetched(`http://${host}:${port}/`, {}), /private network/, host);
  }
  assert.equal(requests, 0);
});

test('a name that resolves to a private address is closed when it is connected', async (t) => {
  let requests = 0;
  const origin = await site(t, (_request, response) => {
    requests++;
    response.end('secret');
  });
  const { lookup } = dns;
  const replace = (by: unknown): void => {
    Object.assign(dns, { lookup: by });
    syncBuiltinESMExports();
  };
  replace((_name: string, _options: object, done: (...args: unknown[]) => void) => {
    setImmediate(done, null, [{ address: '127.0.0.1', family: 4 }]);
  });
  t.after(() => replace(lookup));
  const url = `http://rebound.example:${new URL(origin).port}/`;
  await assert.rejects(fetched(url, {}), /in a private network/);
  assert.equal(requests, 0);
  assert.equal((await fetched(url, OPEN))['text'], 'secret');
});

test('a redirect is checked like the first address, and followed on the same host only', async (t) => {
  const other = await site(t, (_request, response) => response.end('other'));
  const origin = await site(t, (request, response) => {
    const to = {
      '/near': '/here',
      '/far': other,
      '/in': 'http://10.0.0.1/',
      '/file': 'file:///etc/passwd',
      '/round': '/round',
    };
    const location = to[request.url as keyof typeof to];
    if (location !== undefined) response.writeHead(302, { location });
    response.end(`at ${request.url}`);
  });
  assert.equal((await fetched(`${origin}/near`))['text'], 'at /here');
  assert.equal((await fetched(`${origin}/far`))['redirect'], `${other}/`);
  await assert.rejects(fetched(`${origin}/in`), /private network/);
  await assert.rejects(fetched(`${origin}/file`), /only http and https/);
  await assert.rejects(fetched(`${origin}/round`), /redirects more than/);
});

test('an endless page is cut', async (t) => {
  const origin = await site(t, (_request, response) => {
    const more = (): void => {
      while (response.write('x'.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  });
  const page = await fetched(origin);
  assert.equal(page['text'], 'x'.repeat(50_000));
  assert.equal(page['note'], CUT);
});

test('a small file that unpacks to a large one is cut', async (t) => {
  const origin = await site(t, (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(gzipSync(Buffer.alloc(50 * 1024 * 1024, 'x')));
  });
  assert.equal((await fetched(origin))['note'], CUT);
});

test('a server that does not answer causes a timeout, and an abort ends the call', async (t) => {
  const origin = await site(t, () => {});
  await assert.rejects(fetched(origin, { ...OPEN, timeoutMs: 50 }), /took longer than/);
  const signal = AbortSignal.timeout(50);
  await assert.rejects(fetched(origin, OPEN, toolContext({ signal })), { name: 'TimeoutError' });
});

test('binary content, failed requests and invalid URLs are reported in one line', async (t) => {
  const origin = await site(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    response.end('x');
  });
  await assert.rejects(fetched(origin), { name: 'FetchError', message: /image\/png/ });
  await assert.rejects(fetched('file:///etc/passwd'), /only http and https/);
  await assert.rejects(fetched('nonsense'), /not a valid URL/);
  await assert.rejects(fetched('http://user:secret@example.com/'), /credentials/);
  const closed = http.createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  await assert.rejects(fetched(`http://127.0.0.1:${port}/`), /could not be fetched/);
});

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fakeVllm } from '../support/vendors/local-servers.ts';
import { fakeVendor } from '../support/vendors/server.ts';
import { assertRefused, folder, lines, parley, serving } from './support.ts';

interface Report {
  readonly ok: boolean;
  readonly checks: readonly { name: string; status: string; message: string }[];
}

function find({ checks }: Report, name: string) {
  return checks.find((check) => check.name === name);
}

describe('parley doctor', { concurrency: 3 }, () => {
  test('looks at everything that a server needs, in lines with marks', async () => {
    const { code, out } = await parley(['doctor', '--port', '41243']);
    assert.equal(code, 0, out);
    for (const name of ['node', 'data folder', 'sqlite', 'clock', 'open files', 'proxy']) {
      assert.match(out, new RegExp(`^ {2}[✓!] ${name} `, 'm'));
    }
    for (const name of ['settings', 'trust', 'git', 'ripgrep', 'terminal']) {
      assert.match(out, new RegExp(`^ {2}✓ ${name} `, 'm'));
    }
    assert.match(out, /^ {2}[✓!] sandbox /m);
    assert.match(out, /! model +offline, because there is no API key/);
    assert.match(out, /✓ secret key +PARLEY_SECRET_KEY is not set: .* a key in the data folder/);
  });

  test('runs no program of the folder that it checks', async () => {
    const place = path.join(folder, 'with-programs');
    const proof = path.join(place, 'proof');
    mkdirSync(place);
    for (const name of ['git', 'bwrap', 'rg', 'bash', 'sh', 'only-here']) {
      writeFileSync(path.join(place, name), `#!/bin/sh\n: > ${proof}\n`, { mode: 0o755 });
    }
    mkdirSync(path.join(folder, 'config-of-programs/parley'), { recursive: true });
    writeFileSync(
      path.join(folder, 'config-of-programs/parley/settings.json'),
      JSON.stringify({ mcpServers: { hostile: { command: 'only-here' } } }),
    );
    const env = {
      PATH: `.::./:${process.env['PATH']}`,
      XDG_CONFIG_HOME: path.join(folder, 'config-of-programs'),
    };
    await parley(['doctor', '--port', '0'], { env, cwd: place });
    assert.equal(existsSync(proof), false);
  });

  test('PARLEY_STORE of a server without PostgreSQL does not matter', async () => {
    for (const store of ['memory', 'sqlite:tasks.db']) {
      const { err } = await parley(['doctor', '--port', '0'], { env: { PARLEY_STORE: store } });
      assert.equal(err, '');
    }
    const { out } = await parley(['doctor', '--port', '0', '--store', 'postgres://127.0.0.1:1/x']);
    assert.match(out, /! secret key +PARLEY_SECRET_KEY is not set, so secrets such as/);
    const typed = await parley(['doctor', '--store', 'memory']);
    assert.deepEqual([typed.code, /needs postgres:/.test(typed.err)], [2, true]);
  });

  test('--json is one object', async () => {
    const env = {
      PARLEY_SECRET_KEY: 'a-key-that-is-long-enough',
      HTTPS_PROXY: 'http://proxy.example:8080',
    };
    const { out } = await parley(['doctor', '--json'], { env });
    const [report] = lines(out) as unknown as Report[];
    assert.ok(report);
    assert.equal(report.ok, true);
    assert.equal(find(report, 'secret key')?.status, 'ok');
    assert.equal(find(report, 'proxy')?.status, 'warning');
  });

  test('a data folder that cannot be written is broken: exit code 1', async () => {
    const file = path.join(folder, 'a-file');
    writeFileSync(file, '');
    const { code, out } = await parley(['doctor'], { env: { PARLEY_HOME: path.join(file, 'x') } });
    assert.equal(code, 1);
    assert.match(out, /✗ data folder .* set PARLEY_HOME/);
    assert.match(out, /2 problems\.\n$/);
  });

  test('a model that the vendor does not have is broken, and an MCP server that does not start is a warning', async () => {
    await using vendor = await fakeVendor([], { models: ['llama'] });
    const config = path.join(folder, 'doctor-parts');
    mkdirSync(path.join(config, 'parley'), { recursive: true });
    const settings = {
      model: 'openai-compatible:lama',
      mcpServers: { tools: { command: '/nonexistent/mcp-server' } },
    };
    writeFileSync(path.join(config, 'parley', 'settings.json'), JSON.stringify(settings));
    const env = { XDG_CONFIG_HOME: config, OPENAI_COMPATIBLE_BASE_URL: `${vendor.url}/v1` };
    const { code, out } = await parley(['doctor'], { env });
    assert.equal(code, 1);
    assert.match(out, /✗ model +unknown model "openai-compatible:lama": did you mean .*:llama\?/);
    assert.match(out, /! mcp tools +.*ENOENT.*: check mcpServers\.tools in settings\.json/);
  });

  test('checks the model of PARLEY_MODEL, not the one of the settings', async () => {
    const config = path.join(folder, 'doctor-model');
    mkdirSync(path.join(config, 'parley'), { recursive: true });
    const settings = { model: 'google:gemini' };
    writeFileSync(path.join(config, 'parley', 'settings.json'), JSON.stringify(settings));
    const env = { XDG_CONFIG_HOME: config, PARLEY_MODEL: 'offline' };
    assert.match((await parley(['doctor', '--port', '0'], { env })).out, /✓ model +offline$/m);
    const { out } = await parley(['models', '--json'], { env });
    assert.equal((JSON.parse(out) as { default: string }).default, 'offline');
  });

  test('a model on this machine is only for the terminal, and the sandbox is optional', async () => {
    await using vllm = await fakeVllm([{ name: 'tiny' }]);
    const programs = path.join(folder, 'no-programs');
    mkdirSync(programs, { recursive: true });
    const env = { VLLM_BASE_URL: vllm.url, PATH: programs };
    const { out } = await parley(['doctor', '--port', '0'], { env });
    assert.match(
      out,
      /✓ model +vllm:tiny .*Only the terminal UI uses it: for parley -p, serve and acp, set --model/,
    );
    if (process.platform !== 'linux') return;
    assert.match(out, /! sandbox +.*install bubblewrap if you want to use --sandbox$/m);
  });

  test('settings that cannot be read are broken, and so is a model without its key', async () => {
    const config = path.join(folder, 'doctor-config');
    mkdirSync(path.join(config, 'parley'), { recursive: true });
    const file = path.join(config, 'parley', 'settings.json');
    const env = { XDG_CONFIG_HOME: config };
    writeFileSync(file, '{ "model": "google:gemini" }');
    assert.match((await parley(['doctor'], { env })).out, /✗ model +.* needs GEMINI_API_KEY/);
    writeFileSync(file, '{');
    const { code, out } = await parley(['doctor'], { env });
    assert.equal(code, 1);
    assert.match(out, /✗ settings .*settings\.json:1: /);
  });

  test('says who has the port', async () => {
    const server = await serving(['--agent', 'echo']);
    const { code, out } = await parley(['doctor', '--port', String(server.port)]);
    assert.equal(code, 0);
    assert.match(out, /! port .* in use by the agent Echo: choose another/);
    await server.stop();
  });

  test('a port that is none: one line and exit code 2', async () => {
    assertRefused(await parley(['doctor', '--port', 'x']), 2, /from 0 to 65535/);
  });
});

/** The servers that are compared, each in a process of its own, on the same Node. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSubject, type Subject } from './subject.ts';

const here = import.meta.dirname;
const CLI = join(here, '../dist/parley-cli/cli/parley.js');

/** Folders and processes to remove at the end. */
const folders: string[] = [];
const running = new Set<Subject>();

export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  folders.push(folder);
  return folder;
}

export async function started(options: Parameters<typeof startSubject>[0]): Promise<Subject> {
  const subject = await startSubject(options);
  running.add(subject);
  return subject;
}

export function bare(): Promise<Subject> {
  return started({ name: 'bare', command: [join(here, 'servers/bare.ts')] });
}

/** Bare connect-node. */
export function bareGrpc(): Promise<Subject> {
  return started({ name: 'bare', command: [join(here, 'servers/bare-grpc.ts')] });
}

export function sdk(): Promise<Subject> {
  return started({ name: 'sdk', command: [join(here, 'servers/sdk.ts')] });
}

/** The bare `ws` library, which sends the given frames to every client. */
export function bareWs(): Promise<Subject> {
  return started({ name: 'ws', command: [join(here, 'servers/bare-ws.ts')] });
}

/** A live session whose model sends many events per turn. */
export function liveSession(): Promise<Subject> {
  return started({ name: 'parley', command: [join(here, 'servers/live.ts'), scratch()] });
}

/** Our built server, as a user starts it. */
export function parley(name: string, ...flags: string[]): Promise<Subject> {
  const command = [CLI, 'serve', '--agent', 'bench', '--port', '0', '--json', ...flags];
  return started({ name, command, env: { PARLEY_HOME: scratch() } });
}

export const inMemory = () => parley('parley', '--store', 'memory');
export const onDisk = (name = 'sqlite', ...flags: string[]) =>
  parley(name, '--store', `sqlite:${join(scratch(), 'tasks.db')}`, ...flags);

/** An agent with bare node:http, each of whose events is a packet of its own. */
export function bareAgent(): Promise<Subject> {
  return started({ name: 'agent', command: [join(here, 'servers/agent.ts')] });
}

/** A vendor of models that streams its answers. */
export function vendor(): Promise<Subject> {
  return started({ name: 'vendor', command: [join(here, 'servers/vendor.ts')] });
}

/** A proxy with bare node:http and undici. */
export function bareProxy(upstream: Subject): Promise<Subject> {
  const command = [join(here, 'servers/proxy.ts'), String(upstream.port)];
  return started({ name: 'bare', command });
}

/** Our built gateway, with the upstream as its agent `bench`. */
export function gateway(name: string, upstream: Subject): Promise<Subject> {
  return configured(name, { agents: { bench: { url: addressOf(upstream) } } });
}

/** Our built gateway in front of the vendor: the models `claude` and `gpt` have the vendor's own APIs. */
export function modelGateway(name: string, upstream: Subject): Promise<Subject> {
  const baseUrl = addressOf(upstream);
  const anthropic = { type: 'anthropic', baseUrl, apiKey: 'k', models: ['claude'] };
  const openai = { type: 'openai', baseUrl: `${baseUrl}/v1`, apiKey: 'k', models: ['gpt'] };
  return configured(name, { providers: { anthropic, openai } });
}

function addressOf({ port }: Subject): string {
  return `http://127.0.0.1:${port}`;
}

function configured(name: string, config: object): Promise<Subject> {
  const home = scratch();
  const file = join(home, 'gateway.json');
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  const store = name === 'sqlite' ? `sqlite:${join(home, 'tasks.db')}` : 'memory';
  const own = ['--config', file, '--store', store, '--port', '0', '--json'];
  return started({ name, command: [CLI, 'gateway', ...own], env: { PARLEY_HOME: home } });
}

export async function stop(...subjects: readonly Subject[]): Promise<void> {
  for (const subject of subjects) {
    await subject.stop();
    running.delete(subject);
  }
}

export async function cleanUp(): Promise<void> {
  await stop(...running);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

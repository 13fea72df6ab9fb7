/**
 * The checks of `parley doctor` for the coding agent. If an optional part is missing, only the feature that needs it
 * does not work.
 */
import { execFile } from 'node:child_process';
import { reasonOf } from '../../base/index.ts';
import { promisify } from 'node:util';
import { resolveModel } from '../../agent/internal/index.ts';
import {
  ripgrepFile,
  hasTerminal,
  openSandbox,
  probeMcp,
  SandboxUnavailable,
} from '../../coder/index.ts';
import type { Settings } from '../../coder/settings/index.ts';
import { broken, type Check, ok, warning } from '../program/checks.ts';
import { settingsFor } from '../program/settings.ts';
import type { Environment } from '../program/flags.ts';
import { localOffer, modelInUse } from './model-choice.ts';
import { loginPlace } from './login-place.ts';

const PROBE_MS = 5000;

export async function coderChecks(environment: Environment): Promise<Check[]> {
  const here = process.cwd();
  const [settings, ...others] = await Promise.all([
    checkSettings(here, environment),
    checkGit(),
    checkSandbox(here),
    checkSearch(),
    checkTerminal(),
  ]);
  return [...settings, ...others];
}

/** Checks the settings for this folder, the trust in the folder, the model and the MCP servers. */
async function checkSettings(here: string, environment: Environment): Promise<Check[]> {
  try {
    const loaded = await settingsFor(here, environment);
    const { settings, files, untrusted, config, trusted } = loaded;
    const found = ok('settings', files.length > 0 ? files.join(', ') : `none in ${config}`);
    const [model, servers] = await Promise.all([
      checkModel(settings, environment),
      checkMcp(settings.mcpServers ?? {}, here, environment),
    ]);
    return [found, checkTrust(here, trusted, untrusted), model, ...servers];
  } catch (error) {
    return [broken('settings', reasonOf(error))];
  }
}

function checkTrust(here: string, trusted: boolean, untrusted: string | undefined): Check {
  const name = 'trust';
  if (trusted) return ok(name, `${here} is trusted`);
  return untrusted === undefined
    ? ok(name, `${here} is not trusted, and has no settings of its own`)
    : warning(name, `${untrusted} is ignored: read it, then run parley trust`);
}

async function checkModel(settings: Settings, environment: Environment): Promise<Check> {
  const name = 'model';
  const { providers } = settings;
  const { name: model, isNamed } = modelInUse(undefined, settings, environment);
  try {
    const resolved = resolveModel(model, {
      env: environment,
      checkKey: true,
      ...(providers && { providers }),
    });
    await resolved.checkName?.(AbortSignal.timeout(PROBE_MS));
  } catch (error) {
    return broken(name, reasonOf(error));
  }
  if (model !== 'offline' || isNamed) return ok(name, model);
  const offer = await localOffer(environment, providers);
  return offer
    ? ok(
        name,
        `${offer.model} on this machine, because there is no API key. Only the terminal uses it: for -p, serve and acp, set --model`,
      )
    : warning(
        name,
        'offline, because there is no API key: set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY, start a model on this machine, for example with Ollama, or choose a model with --model',
      );
}

/** Connects to the MCP servers in the settings. If a server is not available, only its tools are missing. */
async function checkMcp(
  servers: NonNullable<Settings['mcpServers']>,
  here: string,
  environment: Environment,
): Promise<Check[]> {
  const found = await probeMcp(servers, { cwd: here, logins: loginPlace(environment) });
  return found.map(({ name, tools, problem }) =>
    problem === undefined
      ? ok(`mcp ${name}`, `${tools} tools`)
      : warning(`mcp ${name}`, `${problem}: check mcpServers.${name} in settings.json`),
  );
}

/** Returns the first line of `FILE --version`. */
async function versionOf(file: string): Promise<string> {
  const { stdout } = await promisify(execFile)(file, ['--version'], { timeout: PROBE_MS });
  return stdout.split('\n', 1)[0] ?? '';
}

async function checkGit(): Promise<Check> {
  const name = 'git';
  try {
    return ok(name, await versionOf('git'));
  } catch {
    return warning(name, 'git does not run: install it to get checkpoints, which /restore needs');
  }
}

async function checkSandbox(here: string): Promise<Check> {
  const name = 'sandbox';
  try {
    await openSandbox(here);
    return ok(name, 'bubblewrap works: --sandbox can be used');
  } catch (error) {
    const why = error instanceof SandboxUnavailable ? error.ifWanted : reasonOf(error);
    return warning(name, why);
  }
}

async function checkSearch(): Promise<Check> {
  const name = 'ripgrep';
  try {
    return ok(name, await versionOf(await ripgrepFile()));
  } catch (error) {
    return broken(
      name,
      `${reasonOf(error)}: the tools search and glob do not work; reinstall parley`,
    );
  }
}

async function checkTerminal(): Promise<Check> {
  const name = 'terminal';
  return (await hasTerminal())
    ? ok(name, 'shell commands run on a pseudo-terminal')
    : warning(name, 'no pseudo-terminal on this system: shell commands run on pipes');
}

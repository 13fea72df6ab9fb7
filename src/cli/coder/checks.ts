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
import { broken, check, type Check, type Finding, ok, warning } from '../program/checks.ts';
import { settingsFor } from '../program/settings.ts';
import type { Environment } from '../program/flags.ts';
import { localOffer, modelInUse } from './model-choice.ts';
import { loginPlace } from './login-place.ts';

const PROBE_MS = 5000;

export async function coderChecks(environment: Environment): Promise<Check[]> {
  const here = process.cwd();
  const checks = await Promise.all([
    checkSettings(here, environment),
    ...Object.entries(PARTS).map(async ([name, look]) => [check(name, await look(here))]),
  ]);
  return checks.flat();
}

/** The checks that do not depend on the settings. Each gets the current folder. */
const PARTS = {
  git: checkGit,
  sandbox: checkSandbox,
  ripgrep: checkSearch,
  terminal: checkTerminal,
} satisfies Record<string, (here: string) => Promise<Finding>>;

/** Checks the settings for this folder, the trust in the folder, the model and the MCP servers. */
async function checkSettings(here: string, environment: Environment): Promise<Check[]> {
  try {
    const loaded = await settingsFor(here, environment);
    const { settings, files, untrusted, config, trusted } = loaded;
    const found = ok(files.length > 0 ? files.join(', ') : `none in ${config}`);
    const [model, servers] = await Promise.all([
      checkModel(settings, environment),
      checkMcp(settings.mcpServers ?? {}, here, environment),
    ]);
    return [
      check('settings', found),
      check('trust', checkTrust(here, trusted, untrusted)),
      check('model', model),
      ...servers,
    ];
  } catch (error) {
    return [check('settings', broken(reasonOf(error)))];
  }
}

function checkTrust(here: string, trusted: boolean, untrusted: string | undefined): Finding {
  if (trusted) return ok(`${here} is trusted`);
  return untrusted === undefined
    ? ok(`${here} is not trusted, and has no settings of its own`)
    : warning(`${untrusted} is ignored: read it, then run parley trust`);
}

async function checkModel(settings: Settings, environment: Environment): Promise<Finding> {
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
    return broken(reasonOf(error));
  }
  if (model !== 'offline' || isNamed) return ok(model);
  const offer = await localOffer(environment, providers);
  return offer
    ? ok(
        `${offer.model} on this machine, because there is no API key. Only the terminal UI uses it: for parley -p, serve and acp, set --model`,
      )
    : warning(
        'offline, because there is no API key: set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY, start a model on this machine, for example with Ollama, or choose a model with --model',
      );
}

/** Connects to the MCP servers in the settings. Warns if a server is not available: the agent then lacks its tools. */
async function checkMcp(
  servers: NonNullable<Settings['mcpServers']>,
  here: string,
  environment: Environment,
): Promise<Check[]> {
  const found = await probeMcp(servers, { cwd: here, logins: loginPlace(environment) });
  return found.map(({ name, tools, problem }) => {
    const advice = `${problem}: check mcpServers.${name} in settings.json`;
    return check(`mcp ${name}`, problem === undefined ? ok(`${tools} tools`) : warning(advice));
  });
}

/** Returns the first line of `FILE --version`. */
async function versionOf(file: string): Promise<string> {
  const { stdout } = await promisify(execFile)(file, ['--version'], { timeout: PROBE_MS });
  return stdout.split('\n', 1)[0] ?? '';
}

async function checkGit(): Promise<Finding> {
  try {
    return ok(await versionOf('git'));
  } catch {
    return warning('git does not run: install it to get checkpoints, which /restore needs');
  }
}

async function checkSandbox(here: string): Promise<Finding> {
  try {
    await openSandbox(here);
    return ok('bubblewrap works: --sandbox can be used');
  } catch (error) {
    const why = error instanceof SandboxUnavailable ? error.ifWanted : reasonOf(error);
    return warning(why);
  }
}

async function checkSearch(): Promise<Finding> {
  try {
    return ok(await versionOf(await ripgrepFile()));
  } catch (error) {
    return broken(`${reasonOf(error)}: the tools search and glob do not work; reinstall parley`);
  }
}

async function checkTerminal(): Promise<Finding> {
  return (await hasTerminal())
    ? ok('shell commands run on a pseudo-terminal')
    : warning('no pseudo-terminal on this system: shell commands run on pipes');
}

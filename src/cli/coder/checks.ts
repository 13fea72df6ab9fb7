/** What the coding agent needs of this machine, for `parley doctor`. It does without most of it, with less to offer. */
import { execFile } from 'node:child_process';
import { reasonOf } from '../../base/index.ts';
import { promisify } from 'node:util';
import { defaultModelName, resolveModel } from '../../agent/index.ts';
import { ripgrepFile, configFolder, hasTerminal, openSandbox } from '../../coder/index.ts';
import { loadSettings, isTrusted } from '../../coder/settings/index.ts';
import { broken, type Check, ok, warning } from '../program/checks.ts';
import type { Environment } from '../program/flags.ts';

const PROBE_MS = 5000;

export async function coderChecks(environment: Environment): Promise<Check[]> {
  const here = process.cwd();
  const config = configFolder(environment);
  const [settings, ...others] = await Promise.all([
    checkSettings(config, here, environment),
    checkGit(),
    checkSandbox(here),
    checkSearch(),
    checkTerminal(),
  ]);
  return [...settings, ...others];
}

/** The settings in force in this folder, with the model and the trust that they stand on. */
async function checkSettings(
  config: string,
  here: string,
  environment: Environment,
): Promise<Check[]> {
  try {
    const trusted = await isTrusted(config, here);
    const { settings, files, untrusted } = await loadSettings({
      configFolder: config,
      workspace: here,
      trusted,
    });
    const found = ok('settings', files.length > 0 ? files.join(', ') : `none in ${config}`);
    return [found, checkTrust(here, trusted, untrusted), checkModel(settings.model, environment)];
  } catch (error) {
    return [broken('settings', reasonOf(error))];
  }
}

function checkTrust(here: string, trusted: boolean, untrusted: string | undefined): Check {
  const name = 'trust';
  if (trusted) return ok(name, `${here} is trusted`);
  return untrusted === undefined
    ? ok(name, `${here} is not trusted, and has no settings of its own`)
    : warning(name, `${untrusted} does not count: read it, then parley trust`);
}

function checkModel(wanted: string | undefined, environment: Environment): Check {
  const name = 'model';
  const model = wanted ?? defaultModelName(environment);
  try {
    resolveModel(model, { env: environment, checkKey: true });
  } catch (error) {
    return broken(name, reasonOf(error));
  }
  return model === 'offline' && wanted === undefined
    ? warning(
        name,
        'offline, because there is no key: set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY',
      )
    : ok(name, model);
}

async function checkGit(): Promise<Check> {
  const name = 'git';
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { timeout: PROBE_MS });
    return ok(name, stdout.trim());
  } catch {
    return warning(name, 'git does not run: without it there are no checkpoints to go back to');
  }
}

async function checkSandbox(here: string): Promise<Check> {
  const name = 'sandbox';
  try {
    await openSandbox(here);
    return ok(name, 'bubblewrap works: --sandbox can be used');
  } catch (error) {
    return warning(name, reasonOf(error));
  }
}

async function checkSearch(): Promise<Check> {
  const name = 'ripgrep';
  try {
    const file = await ripgrepFile();
    const { stdout } = await promisify(execFile)(file, ['--version'], { timeout: PROBE_MS });
    return ok(name, stdout.split('\n', 1)[0] ?? '');
  } catch (error) {
    return broken(name, `${reasonOf(error)}: search and glob fail; install parley again`);
  }
}

async function checkTerminal(): Promise<Check> {
  const name = 'terminal';
  return (await hasTerminal())
    ? ok(name, 'commands get a pseudo-terminal')
    : warning(name, 'there is no pseudo-terminal for this system: commands run on pipes');
}

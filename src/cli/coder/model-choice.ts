/**
 * Decides which model the coding agent uses, before a session chooses another one. For a person who has no API key,
 * finds a model of Ollama, LM Studio or vLLM on this machine.
 */
import { defaultModelName } from '../../agent/index.ts';
import { hostNameOf, isThisMachine } from '../../base/index.ts';
import { offered, reachableServers } from '../../agent/internal/index.ts';
import { allServers, LOCAL_SERVERS, isLocalServer } from '../../agent/providers/index.ts';
import type { Settings } from '../../coder/settings/index.ts';
import { type Environment, variableOf } from '../program/flags.ts';

/**
 * Returns the model of the flag, its variable or the settings. If none of them is set, returns the default model, which
 * depends on the keys in the environment. `isNamed` is false for the default model.
 */
export function modelInUse(
  flag: string | undefined,
  { model }: Pick<Settings, 'model'>,
  environment: Environment,
) {
  const named = flag ?? (environment[variableOf('model')] || model);
  return { name: named ?? defaultModelName(environment), isNamed: named !== undefined };
}

/**
 * How long the program may wait for the local servers. The wait delays its start. A port without a server refuses the
 * connection at once, so only a server that hangs takes this long.
 */
const TIMEOUT_MS = 600;
const MAX_NAMED = 4;

/**
 * Returns the model to use if there is no API key, with a note for the person. Returns undefined if no server on this
 * machine has a model. A server on another machine is not asked: its models are used only if the person chooses one,
 * because prompts and files would leave this machine.
 */
export async function localOffer(environment: Environment, providers: Settings['providers']) {
  const local = allServers(environment, providers).filter(
    ({ local: kind, baseURL }) =>
      kind !== undefined && URL.canParse(baseURL) && isThisMachine(hostNameOf(baseURL)),
  );
  const found = await reachableServers(local, { timeoutMs: TIMEOUT_MS });
  const servers = found.filter(({ models, problem }) => problem === undefined && models.length > 0);
  const all = servers.flatMap(({ prefix, models }) =>
    models.map((each) => ({ ...each, id: `${prefix}:${each.id}` })),
  );
  const [model, ...others] = offered(all).map(({ id }) => id);
  const [prefix = ''] = model?.split(':', 1) ?? [];
  if (model === undefined || !isLocalServer(prefix)) return undefined;
  const { title } = LOCAL_SERVERS[prefix];
  const more = others.length === 0 ? '' : ` Other models: ${named(others)}.`;
  return {
    model,
    note: `There is no API key, but ${title} is available on this machine, so ${model} answers. /model NAME chooses another model.${more} To always use ${model}, set "model": "${model}" in settings.json.`,
  };
}

function named(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

/** Decides which model the coding agent uses, before a session chooses another one. */
import { defaultModelName } from '../../agent/index.ts';
import type { Settings } from '../../coder/settings/index.ts';
import { type Environment, variableOf } from '../program/flags.ts';

export interface ModelInUse {
  readonly name: string;
  /** Whether the person named the model. If not, it depends on the keys in the environment. */
  readonly isNamed: boolean;
}

/** Returns the model that the flag, its variable or the settings name. If none is named, returns the default model. */
export function modelInUse(
  flag: string | undefined,
  { model }: Pick<Settings, 'model'>,
  environment: Environment,
): ModelInUse {
  const named = flag ?? (environment[variableOf('model')] || model);
  return { name: named ?? defaultModelName(environment), isNamed: named !== undefined };
}

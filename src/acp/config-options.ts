/**
 * The choices that a person can make for a session in an editor: the approval mode and the model. The commands
 * /approval and /model set them for all clients.
 *
 * ACP has three forms for the same choices: config options, the older `modes`, and `models`. The form `models` was
 * never stable and is no longer in the SDK. Different clients read different forms, so all three are sent.
 */
import { RequestError, type SessionConfigOption, type SessionMode } from '@agentclientprotocol/sdk';

/** The choices of a session, and the models to choose from. */
export interface Choices {
  readonly mode: string;
  readonly model: string;
  readonly models: readonly string[];
}

/** The ids of the config options. */
export type ChoiceId = 'mode' | 'model';

/** The choices in the responses to session/new, session/load and session/resume. */
export type ChoiceState = ReturnType<typeof choiceState>;

const MODES: readonly SessionMode[] = [
  { id: 'ask', name: 'Ask', description: 'Asks before edits, commands and network access' },
  { id: 'auto-edit', name: 'Auto-edit', description: 'Edits files without asking' },
  { id: 'plan', name: 'Plan', description: 'Changes no files and runs no commands' },
  { id: 'yolo', name: 'Yolo', description: 'Never asks for approval' },
];

/**
 * The pattern for names of models that are not listed: at most 200 characters, without white space and control
 * characters. Listed names are accepted as they are.
 */
const MODEL_NAME = /^[^\s\p{C}]{1,200}$/u;

export function choiceState(choices: Choices) {
  const { mode, model } = choices;
  return {
    modes: { currentModeId: mode, availableModes: [...MODES] },
    configOptions: configOptions(choices),
    models: {
      currentModelId: model,
      availableModels: listed(choices).map((name) => ({ modelId: name, name })),
    },
  };
}

export function configOptions(choices: Choices): SessionConfigOption[] {
  return [
    {
      id: 'mode',
      name: 'Approval mode',
      description: 'When the agent asks before it changes something',
      category: 'mode',
      type: 'select',
      currentValue: choices.mode,
      options: MODES.map(({ id: value, name, description }) => ({
        value,
        name,
        ...(description && { description }),
      })),
    },
    {
      id: 'model',
      name: 'Model',
      category: 'model',
      type: 'select',
      currentValue: choices.model,
      options: listed(choices).map((name) => ({ value: name, name })),
    },
  ];
}

/** Returns the models to choose from. The current model is always one of them. */
function listed({ model, models }: Choices): string[] {
  return [...new Set([...models, model])];
}

/** Returns the id of a config option. Throws if there is no such option. */
export function choiceId(configId: string): ChoiceId {
  if (configId === 'mode' || configId === 'model') return configId;
  throw RequestError.invalidParams({}, `configId: unknown option ${configId}; use mode or model`);
}

/**
 * Returns the command that sets a choice. Throws if the value cannot be valid. `field` is the name of the request's
 * field, for the error message.
 */
export function commandFor(id: ChoiceId, value: string, field: string, choices: Choices): string {
  if (id === 'mode') {
    if (MODES.some((mode) => mode.id === value)) return `/approval ${value}`;
    throw RequestError.invalidParams({}, `${field}: unknown mode ${value}`);
  }
  if (listed(choices).includes(value) || MODEL_NAME.test(value)) return `/model ${value}`;
  throw RequestError.invalidParams({}, `${field}: not the name of a model`);
}

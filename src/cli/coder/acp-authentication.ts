/** The ways to give `parley acp` a model. None of them is required, because the offline model needs no key. */
import type { AcpAuthentication } from '../../acp/index.ts';
import { ModelError } from '../../agent/index.ts';
import { resolveModel } from '../../agent/internal/index.ts';
import type { Environment } from '../program/flags.ts';

const WHERE = 'in the environment of parley acp, for example in the settings of the editor';
const KEYS = 'GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY';

/** `model` is the model that sessions use. */
export function acpAuthentication(model: string, environment: Environment): AcpAuthentication {
  return {
    methods: [
      {
        id: 'api-key',
        name: 'API key of a model provider',
        description: `Set ${KEYS} ${WHERE}, and start the agent again.`,
      },
      {
        id: 'offline',
        name: 'Offline model',
        description: 'Needs no key. It understands only a few simple requests.',
      },
    ],
    authenticate: (methodId) => (methodId === 'offline' ? undefined : keyProblem(model)),
  };

  function keyProblem(name: string): string | undefined {
    if (name === 'offline') return `There is no API key: set ${KEYS} ${WHERE}.`;
    try {
      resolveModel(name, { env: environment, checkKey: true });
      return undefined;
    } catch (error) {
      if (error instanceof ModelError) return error.message;
      throw error;
    }
  }
}

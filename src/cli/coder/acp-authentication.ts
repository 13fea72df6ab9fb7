/**
 * The authentication method of `parley acp`: API keys of models are read from environment variables. The registry of
 * ACP agents requires an authentication method. Editors rarely use it, because the offline model works without a key.
 */
import type { AcpAuthentication } from '../../acp/index.ts';
import { ModelError } from '../../agent/index.ts';
import { resolveModel } from '../../agent/internal/index.ts';
import type { Environment } from '../program/flags.ts';

/** Returns the authentication method. `model` is the model that sessions use. */
export function acpAuthentication(model: string, environment: Environment): AcpAuthentication {
  return {
    methods: [
      {
        id: 'environment',
        name: 'API key in the environment',
        description:
          'Set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY for parley acp, for example in the settings of the editor, and start the agent again. Without a key, the offline model answers, which understands only a few simple requests.',
      },
    ],
    authenticate() {
      try {
        resolveModel(model, { env: environment, checkKey: true });
        return undefined;
      } catch (error) {
        if (error instanceof ModelError) return error.message;
        throw error;
      }
    },
  };
}

/** Returns whether a session could not be opened because the key of its model is missing. */
export function isMissingKey(error: unknown): boolean {
  return (
    error instanceof Error && error.cause instanceof ModelError && error.cause.code === 'no-key'
  );
}

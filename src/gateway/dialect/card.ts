/** How the gateway introduces itself: what it does with models, and what the agents behind it can do. */
import type { AgentCard, AgentSkill } from '../../protocol/index.ts';
import type { AgentProfile } from '../../tasks/index.ts';

const CHAT_COMPLETION: AgentSkill = {
  id: 'chat-completion',
  name: 'Chat Completion',
  description: 'Generate chat responses via LLM providers',
  tags: ['llm', 'chat'],
  examples: ['Summarize this text', 'Answer this question'],
  input: {
    type: 'object',
    properties: {
      messages: {
        type: 'array',
        items: {
          type: 'object',
          properties: { role: { type: 'string' }, content: { type: 'string' } },
          required: ['role', 'content'],
        },
      },
      model: { type: 'string' },
    },
    required: ['messages'],
  },
  output: {
    type: 'object',
    properties: { content: { type: 'string' }, usage: { type: 'object' } },
    required: ['content'],
  },
};

/** `behind`: the skills of agents. Who asks for one names the agent: by its door, or in `metadata.agent`. */
export function gatewayProfile(
  version: string,
  behind: readonly AgentSkill[],
): AgentProfile & Required<Pick<AgentProfile, 'skills'>> {
  return {
    name: 'Parley Gateway',
    description: 'AI API Gateway with A2A protocol support',
    version,
    skills: [CHAT_COMPLETION, ...behind],
  };
}

/** What the card says beyond the profile: how to sign in, for clients of the dialect and for those of A2A. */
export const GATEWAY_CARD: Partial<AgentCard> = {
  authentication: { schemes: ['Bearer', 'APIKey'] },
  securitySchemes: {
    bearer: { type: 'http', scheme: 'Bearer' },
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  },
  security: [{ bearer: [] }, { apiKey: [] }],
};

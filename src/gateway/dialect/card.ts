/** The gateway's agent card: its own skill, chat completion, and the skills of its agents. */
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

/**
 * Returns the gateway's profile. To use a skill in `agentSkills`, a client sends its request to `/agents/NAME`, or sets
 * `metadata.agent` to the agent's name.
 */
export function gatewayProfile(
  version: string,
  agentSkills: readonly AgentSkill[],
): AgentProfile & Required<Pick<AgentProfile, 'skills'>> {
  return {
    name: 'Parley Gateway',
    description: 'AI API Gateway with A2A protocol support',
    version,
    skills: [CHAT_COMPLETION, ...agentSkills],
  };
}

/**
 * The fields of the card for authentication. `authentication` is for clients of the dialect, the other fields are for
 * A2A clients.
 */
export const GATEWAY_CARD: Partial<AgentCard> = {
  authentication: { schemes: ['Bearer', 'APIKey'] },
  securitySchemes: {
    bearer: { type: 'http', scheme: 'Bearer' },
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  },
  security: [{ bearer: [] }, { apiKey: [] }],
};

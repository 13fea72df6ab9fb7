/** The gateway's agent card: its own skill, chat completion, and the skills of its agents. */
import type { AgentCard, AgentSkill } from '../../protocol/index.ts';
import type { AgentProfile } from '../../tasks/index.ts';
import { CHAT_COMPLETION_SCHEMA } from '../models/tasks/chat-completion.ts';

const CHAT_COMPLETION: AgentSkill = {
  id: 'chat-completion',
  name: 'Chat Completion',
  description: 'Generate chat responses via LLM providers',
  tags: ['llm', 'chat'],
  examples: ['Summarize this text', 'Answer this question'],
  // Whether a file is accepted depends on the model.
  inputModes: [
    'text/plain',
    'application/json',
    'image/*',
    'audio/*',
    'video/*',
    'application/pdf',
  ],
  outputModes: ['text/plain', 'application/json', 'image/*'],
  input: CHAT_COMPLETION_SCHEMA,
  output: {
    type: 'object',
    properties: {
      content: { type: 'string', description: 'The text of the artifact `answer`' },
      usage: { type: 'object', description: 'In the metadata of the artifact `answer`' },
    },
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
    // Each model and each agent decides what it accepts.
    inputModes: ['text/plain', 'application/json', '*/*'],
    skills: [CHAT_COMPLETION, ...agentSkills],
  };
}

/**
 * The fields of the card for authentication. `authentication` is for clients of the dialect (routes.ts). The other
 * fields are for A2A clients.
 */
export const GATEWAY_CARD: Partial<AgentCard> = {
  authentication: { schemes: ['Bearer', 'APIKey'] },
  securitySchemes: {
    bearer: { type: 'http', scheme: 'Bearer' },
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  },
  security: [{ bearer: [] }, { apiKey: [] }],
};

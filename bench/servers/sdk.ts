// The official JavaScript SDK 1.3 on Express, with an agent that understands the requests of the agent `bench`.
import { Role, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

const part = (value: string) => ({
  content: { $case: 'text' as const, value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});

const executor: AgentExecutor = {
  async execute({ userMessage, taskId, contextId }: RequestContext, bus: ExecutionEventBus) {
    const content = userMessage.parts[0]?.content;
    const text = content?.$case === 'text' ? content.value : '';
    const [word, count = '3', size = '16', pace] = text.split(' ');
    if (word === 'echo') {
      const message = {
        role: Role.ROLE_AGENT,
        messageId: crypto.randomUUID(),
        parts: [part(text.slice(5))],
        taskId: '',
        contextId,
        extensions: [],
        metadata: undefined,
        referenceTaskIds: [],
      };
      bus.publish(AgentEvent.message(message));
      bus.finished();
      return;
    }
    const status = (state: TaskState) => ({
      state,
      timestamp: new Date().toISOString(),
      message: undefined,
    });
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_SUBMITTED),
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    const update = (state: TaskState) =>
      bus.publish(
        AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: {} }),
      );
    update(TaskState.TASK_STATE_WORKING);
    if (word === 'hold') await new Promise(() => {});
    for (let seq = 0; seq < Number(count) - 3; seq++) {
      if (pace !== 'burst') await turn();
      const artifact = {
        artifactId: 'chunks',
        name: '',
        description: '',
        parts: [part('x'.repeat(Number(size)))],
        metadata: undefined,
        extensions: [],
      };
      const append = seq > 0 && word !== 'flood';
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact,
          append,
          lastChunk: false,
          metadata: {},
        }),
      );
    }
    update(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  async cancelTask() {},
};

const card = {
  name: 'bench',
  description: 'bench',
  supportedInterfaces: [
    { url: 'http://127.0.0.1', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
  ],
  provider: undefined,
  securitySchemes: {},
  signatures: [],
  securityRequirements: [],
  version: '1.0.0',
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extensions: [],
    extendedAgentCard: false,
  },
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [],
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ ready: true, port }));
});

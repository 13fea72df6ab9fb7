/** A server made with @a2a-js/sdk 0.3.14 on Express: JSON-RPC and REST. */
import type { AgentCard, Message, TaskState, TaskStatusUpdateEvent } from 'a2a-sdk-v03';
import { DefaultRequestHandler, InMemoryTaskStore, type AgentExecutor } from 'a2a-sdk-v03/server';
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from 'a2a-sdk-v03/server/express';
import { A2AService, grpcService } from 'a2a-sdk-v03/server/grpc';
import express from 'express';
import type { TestContext } from 'node:test';
import { openGrpc, withGrpc } from './grpc-calls.ts';
import { EXTENSION, play, reply, type ServerOptions, type Turn } from './script.ts';
import { seenPart, toPart } from './sdk-03-client.ts';
import { partsText } from './seen.ts';
import { demandToken, host, type Gates, type Hosted } from './support.ts';

export async function startSdk03(
  t: TestContext,
  gates: Gates,
  { push = true, token }: ServerOptions = {},
): Promise<Hosted> {
  const app = express();
  const http = await host(t, app);
  const port = await openGrpc(t, token);
  const hosted = withGrpc(http, port);
  const card: AgentCard = {
    name: 'Theirs',
    description: 'An agent on the SDK',
    version: '1.0.0',
    protocolVersion: '0.3.0',
    url: `${hosted.url}/rpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: `${hosted.url}/rest`, transport: 'HTTP+JSON' },
      { url: port.address, transport: 'GRPC' },
    ],
    capabilities: { streaming: true, pushNotifications: push, extensions: [{ uri: EXTENSION }] },
    securitySchemes: {
      bearer: { type: 'http', scheme: 'Bearer' },
      login: {
        type: 'oauth2',
        flows: { clientCredentials: { tokenUrl: 'https://login.test', scopes: { a: 'All' } } },
      },
    },
    security: [{ bearer: [] }],
    supportsAuthenticatedExtendedCard: true,
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'obey', name: 'Obey', description: 'Does it', tags: ['test'] }],
  };
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor(gates),
    undefined,
    undefined,
    undefined,
    async () => ({ ...card, description: 'For friends' }),
  );
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use(demandToken(token));
  app.use('/rpc', jsonRpcHandler(options));
  app.use('/rest', restHandler(options));
  port.server.addService(A2AService, grpcService(options));
  return hosted;
}

function executor(gates: Gates): AgentExecutor {
  const running = new Map<string, AbortController>();
  return {
    async execute({ userMessage, taskId, contextId, task, context }, bus) {
      const controller = new AbortController();
      running.set(taskId, controller);
      const said = userMessage.parts.map(seenPart);
      const first = task?.history?.[0]?.parts.map(seenPart) ?? said;
      const turn: Turn = {
        text: partsText(said),
        parts: said,
        first: partsText(first),
        extensions: context?.requestedExtensions ?? [],
        signal: controller.signal,
      };
      const message = (text: string): Message => ({
        kind: 'message',
        messageId: crypto.randomUUID(),
        role: 'agent',
        parts: [{ kind: 'text', text }],
        contextId,
      });
      const answer = reply(turn);
      if (answer !== undefined) {
        bus.publish(message(answer));
        bus.finished();
        return;
      }
      const status = { state: 'submitted' } as const;
      if (!task) bus.publish({ kind: 'task', id: taskId, contextId, status, history: [] });
      let begun = false;
      try {
        for await (const step of play(turn, gates)) {
          if ('parts' in step) {
            bus.publish({
              kind: 'artifact-update',
              taskId,
              contextId,
              artifact: { artifactId: 'answer', name: 'answer', parts: step.parts.map(toPart) },
              append: begun,
              lastChunk: step.last === true,
            });
            begun = true;
          } else {
            const says = step.says === undefined ? undefined : message(step.says);
            bus.publish(statusEvent(taskId, contextId, step.state, says));
          }
        }
        bus.finished();
      } catch (error) {
        if (!controller.signal.aborted) throw error;
      } finally {
        running.delete(taskId);
      }
    },
    async cancelTask(taskId, bus) {
      running.get(taskId)?.abort(new Error('canceled'));
      bus.publish(statusEvent(taskId, '', 'canceled'));
      bus.finished();
    },
  };
}

function statusEvent(
  taskId: string,
  contextId: string,
  state: TaskState,
  message?: Message,
): TaskStatusUpdateEvent {
  return {
    kind: 'status-update',
    taskId,
    contextId,
    status: { state, timestamp: new Date().toISOString(), ...(message && { message }) },
    final: state !== 'working' && state !== 'submitted',
  };
}

/** A server made with @a2a-js/sdk 1.3 on Express: JSON-RPC and REST, in 1.0 or through its 0.3 layer. */
import { AgentCard, Message, Part, Task, taskStateFromJSON } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  type AgentExecutor,
} from '@a2a-js/sdk/server';
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';
import { LegacyA2AService, legacyGrpcService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import express from 'express';
import type { TestContext } from 'node:test';
import { openGrpc, withGrpc } from './grpc-calls.ts';
import { EXTENSION, play, reply, type ServerOptions, type Turn } from './script.ts';
import { seenPart, toPart } from './sdk-1-client.ts';
import { partsText } from './seen.ts';
import { demandToken, host, type Gates, type Hosted } from './support.ts';

export async function startSdk1(
  t: TestContext,
  gates: Gates,
  { push = true, token }: ServerOptions = {},
): Promise<Hosted> {
  const app = express();
  const http = await host(t, app);
  const port = await openGrpc(t, token);
  const hosted = withGrpc(http, port);
  const interfaces = ['1.0', '0.3'].flatMap((protocolVersion) => [
    { url: `${hosted.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion },
    { url: `${hosted.url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
    { url: port.address, protocolBinding: 'GRPC', protocolVersion },
  ]);
  const card = AgentCard.fromJSON({
    name: 'Theirs',
    description: 'An agent on the SDK',
    version: '1.0.0',
    supportedInterfaces: interfaces,
    capabilities: {
      streaming: true,
      pushNotifications: push,
      extendedAgentCard: true,
      extensions: [{ uri: EXTENSION }],
    },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      login: {
        oauth2SecurityScheme: {
          flows: { clientCredentials: { tokenUrl: 'https://login.test', scopes: { a: 'All' } } },
        },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'obey', name: 'Obey', description: 'Does it', tags: ['test'] }],
  });
  const extended = async () => ({ ...card, description: 'For friends' });
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor(gates),
    undefined,
    undefined,
    undefined,
    extended,
  );
  const options = {
    requestHandler,
    userBuilder: UserBuilder.noAuthentication,
    legacyCompat: { enabled: true },
  };
  app.use(
    '/.well-known/agent-card.json',
    agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: options.legacyCompat }),
  );
  app.use(demandToken(token));
  app.use('/rpc', jsonRpcHandler(options));
  app.use('/rest', restHandler(options));
  const calls = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  port.server.addService(A2AService, grpcService(calls));
  port.server.addService(LegacyA2AService, legacyGrpcService(calls));
  return hosted;
}

function executor(gates: Gates): AgentExecutor {
  const running = new Map<string, AbortController>();
  return {
    async execute({ userMessage, taskId, contextId, task, context }, bus) {
      const controller = new AbortController();
      running.set(taskId, controller);
      const said = userMessage.parts.map(seenPart);
      const first = task?.history[0]?.parts.map(seenPart) ?? said;
      const turn: Turn = {
        text: partsText(said),
        parts: said,
        first: partsText(first),
        extensions: context.requestedExtensions ?? [],
        signal: controller.signal,
      };
      for (const uri of turn.extensions) context.addActivatedExtension(uri);
      const message = (text: string) =>
        Message.fromJSON({
          messageId: crypto.randomUUID(),
          role: 'ROLE_AGENT',
          parts: [{ text }],
          contextId,
        });
      const answer = reply(turn);
      if (answer !== undefined) {
        bus.publish(AgentEvent.message(message(answer)));
        return;
      }
      const status = { state: 'TASK_STATE_SUBMITTED' };
      bus.publish(
        AgentEvent.task(task ?? Task.fromJSON({ id: taskId, contextId, status, history: [] })),
      );
      let begun = false;
      try {
        for await (const step of play(turn, gates)) {
          if ('parts' in step) {
            bus.publish(
              AgentEvent.artifactUpdate({
                taskId,
                contextId,
                artifact: {
                  artifactId: 'answer',
                  name: 'answer',
                  description: '',
                  parts: step.parts.map((part) => Part.fromJSON(toPart(part))),
                  metadata: undefined,
                  extensions: [],
                },
                append: begun,
                lastChunk: step.last === true,
                metadata: undefined,
              }),
            );
            begun = true;
          } else {
            bus.publish(
              statusEvent(taskId, contextId, step.state, step.says && message(step.says)),
            );
          }
        }
      } catch (error) {
        if (!controller.signal.aborted) throw error;
      } finally {
        running.delete(taskId);
      }
    },
    async cancelTask(taskId, bus) {
      running.get(taskId)?.abort(new Error('canceled'));
      bus.publish(statusEvent(taskId, '', 'canceled'));
    },
  };
}

function statusEvent(taskId: string, contextId: string, state: string, message?: Message | '') {
  return AgentEvent.statusUpdate({
    taskId,
    contextId,
    status: {
      state: taskStateFromJSON(`TASK_STATE_${state.replaceAll('-', '_').toUpperCase()}`),
      message: message || undefined,
      timestamp: new Date().toISOString(),
    },
    metadata: undefined,
  });
}

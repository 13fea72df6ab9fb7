export { LiveAccess, type LiveToken, TICKET_MS } from './access.ts';
export { AnswerLinks } from './answer-links.ts';
export { ticketRoute } from './http/tickets.ts';
export { openLive, type Live } from './hub.ts';
export { liveServeOptions } from './ws/route.ts';
export { removeWebhooks, removeWebhooksAtEnd } from './webhooks.ts';

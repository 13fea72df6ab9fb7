export { LiveAccess, type LiveToken, TICKET_MS } from './access.ts';
export { AnswerLinks } from './answer-links.ts';
export { openLive, type Live } from './hub.ts';
export { liveServeOptions } from './ws/route.ts';

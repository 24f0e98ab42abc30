/**
 * What becomes of the answers to a page on their way: refused, lost, or late. Over connections that are opened from now
 * on.
 */
import type { Page } from 'playwright-core';
import { framesIn } from './frames.ts';

/** Answers the first call of this name with a refusal, such as one that does not pass by itself. */
export async function refusesFirst(
  page: Page,
  name: string,
  { code, message: said }: { readonly code: string; readonly message: string } = {
    code: 'internal_error',
    message: 'This is refused.',
  },
): Promise<void> {
  let isRefused = false;
  await page.routeWebSocket(/\/console\/live/u, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const frames = framesIn(message);
      const call = frames.find(({ params }) => params?.path === name);
      if (isRefused || call === undefined) return server.send(message);
      isRefused = true;
      const others = frames.filter((frame) => frame !== call); // calls of one moment come in one message
      if (others.length > 0) server.send(JSON.stringify(others));
      const error = { code: -32_603, message: said, data: { code } };
      return socket.send(JSON.stringify({ id: call.id, error }));
    });
    server.onMessage((message) => socket.send(message));
  });
}

/** Has no answer this field, which is a number: an admin of the release before does not know it. */
export async function answersWithout(page: Page, field: string): Promise<void> {
  await page.routeWebSocket(/\/console\/live/u, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => server.send(message));
    server.onMessage((message) => socket.send(String(message).replace(new RegExp(`"${field}":\\d+,`, 'u'), '')));
  });
}

/**
 * Cuts the connection when the first call of this name is answered, before the page hears it; while held, no later
 * answer comes.
 */
export async function losesAnswerOf(page: Page, name: string) {
  const inputs: string[] = [];
  let isHeld = false;
  let cut = (): void => {};
  await page.routeWebSocket(/\/console\/live/u, (socket) => {
    const server = socket.connectToServer();
    const [lost, held] = [new Set<string>(), new Set<string>()];
    cut = () => void socket.close({ code: 1012 });
    socket.onMessage((message) => {
      for (const { id, params } of framesIn(message)) {
        if (params?.path !== name) continue;
        inputs.push(JSON.stringify(params.input));
        if (inputs.length === 1) lost.add(`{"id":${id},`);
        else if (isHeld) held.add(`{"id":${id},`);
      }
      server.send(message);
    });
    server.onMessage((message) => {
      const [begin = ''] = /^\{"id":\d+,/u.exec(String(message)) ?? [];
      if (lost.has(begin)) cut();
      else if (!held.has(begin)) socket.send(message);
    });
  });
  return {
    inputs,
    hold: () => void (isHeld = true),
    release: () => {
      isHeld = false;
      cut();
    },
  };
}

/**
 * Has the answers of calls of this name wait, from `hold` to `release`. `asked`: those calls, by how their answers
 * begin.
 */
export async function holdsAnswersOf(page: Page, name: string) {
  const asked = new Set<string>();
  let held: (() => void)[] | null = null;
  await page.routeWebSocket(/\/console\/live/u, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      for (const { id, params } of framesIn(message)) if (params?.path === name) asked.add(`{"id":${id},`);
      server.send(message);
    });
    server.onMessage((message) => {
      const [begin = ''] = /^\{"id":\d+,/u.exec(String(message)) ?? [];
      if (held !== null && asked.has(begin)) held.push(() => socket.send(message));
      else socket.send(message);
    });
  });
  return {
    asked,
    hold: () => void (held = []),
    release: () => {
      const waiting = held ?? [];
      held = null;
      for (const answer of waiting) answer();
    },
  };
}

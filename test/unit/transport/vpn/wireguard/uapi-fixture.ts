/** What stands for wireguard-go behind the socket of an interface. */
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { makeKeyPair } from '../../../../../transport/vpn/wireguard/keys.ts';
import { DEVICE_LIMITS, type DeviceLimits } from '../../../../../transport/vpn/wireguard/limits.ts';
import { ProgrammedDevice } from '../../../../../transport/vpn/wireguard/programmed-device.ts';
import { LINUX } from '../../../../../transport/vpn/wireguard/programs.ts';
import { UserSpaceControls } from '../../../../../transport/vpn/wireguard/user-space.ts';
import { listeningAt } from '../../../../support/net/listening.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/** What stands for wireguard-go: answers each question in its own way, and keeps what it heard. */
export async function serve(
  t: ExecutionContext,
  answer: (socket: Socket, question: string) => void,
): Promise<{ sockets: string; heard: string[]; close: () => void }> {
  const sockets = temporaryDirectory(t);
  const open = new Set<Socket>();
  const heard: string[] = [];
  const server = createServer((socket) => {
    let question = '';
    open.add(socket.on('error', () => {}).setEncoding('latin1'));
    socket.on('data', (text: string) => {
      question += text;
      if (!question.endsWith('\n\n')) return;
      heard.push(question);
      answer(socket, question);
    });
  });
  await listeningAt(t, server, join(sockets, 'wg0.sock'));
  const close = (): void => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return { sockets, heard, close };
}

/** Programs the interface of what is served there. */
export function controlsAt(sockets: string, limits: Partial<DeviceLimits> = {}): UserSpaceControls {
  return new UserSpaceControls('wg0', { machine: { ...LINUX, sockets }, limits: { ...DEVICE_LIMITS, ...limits } });
}

/** The interface of what is served there, as a device. */
export function deviceAt(sockets: string, limits: Partial<DeviceLimits> = {}): ProgrammedDevice {
  const options = { name: 'wg0', privateKey: makeKeyPair().privateKey, listenPort: 51_820, mtu: 1_280 };
  const reach = { machine: { ...LINUX, sockets }, limits: { ...DEVICE_LIMITS, ...limits } };
  return new ProgrammedDevice(options, null, new UserSpaceControls('wg0', reach), reach);
}

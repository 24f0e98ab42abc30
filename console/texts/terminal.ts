/** What the terminal of a node says. */
import { number } from './number.ts';

/** By where they stand. */
export const TERMINAL = {
  of: (name: string) => `Terminal of ${name}`,
  missing: 'There is no such node. It may have been deleted.',
  noRequest: 'A request opens no shell. This one runs a command on the node.',
  lead: 'A shell on the machine, over its SSH server, as one of the SSH usernames of the node.',
  back: 'To the node',
  user: 'Sign in as',
  with: 'With',
  key: 'a key for this terminal alone',
  keyNote:
    'Your browser makes the key and keeps its private half. The service lets it in now, and deletes it when the terminal ends.',
  noKey: 'This browser makes no key here: that needs HTTPS, and a browser that knows Ed25519. Use a password.',
  password: 'its password',
  passwordField: 'Password',
  open: 'Open the terminal',
  opening: 'Signing in.',
  notSigned: 'Your browser did not sign with the key. Use a password.',
  noUsers: 'Nobody may sign in to this node by SSH yet. Add an SSH username first:',
  noPassword: 'This username has no password.',
  label: 'Terminal',
  leave: 'F6 leaves the terminal, Shift-F6 is F6 for what runs in it.',
  left: 'You left the terminal. F6 leads back.',
  openAs: (user: string) => `Signed in as ${user}.`,
  recorded: 'What this session shows is recorded.',
  hostKnown: 'The host key is the one that the service knows.',
  hostUnknown: (fingerprint: string) => `The service knows no host key of this machine. It shows ${fingerprint}.`,
  exited: (code: number | null, signal: string | null) =>
    signal === null ? `The shell ended with status ${code ?? 'unknown'}.` : `The shell was ended by ${signal}.`,
  lost: (why: string, bytes: number) =>
    `The connection was cut${why === '' ? '' : `: ${why}`}${/[.!?]$/u.test(why) ? '' : '.'} The shell and what ran in it were hung up.${
      bytes === 0 ? '' : ` ${number(bytes)} bytes that you typed had not arrived.`
    }`,
  tooMuch: 'More was typed than the machine takes. What is beyond 4 MiB was left out.',
  dropping: 'What you type now goes nowhere.',
  dropped: (bytes: number) =>
    `${bytes === 1 ? 'One byte that you typed before this shell was there went' : `${number(bytes)} bytes that you typed before this shell was there went`} nowhere.`,
  refused: (why: string) => `You were not signed in. ${why}`,
  trying: 'Trying to open another one.',
  again: 'Open another one',
  other: 'Sign in otherwise',
  end: 'End',
  reader: 'For readers of screens',
  files: 'Files',
  paste: {
    title: 'Paste this?',
    text: (lines: number) =>
      lines > 1
        ? `${number(lines)} lines. A shell may run each as soon as it comes.`
        : 'There were control characters in it, which are left out.',
    action: 'Paste',
  },
  file: {
    title: 'Files',
    folder: 'Folder',
    tools: 'What to put into the folder',
    entries: 'What is in the folder',
    show: 'Show',
    up: 'Folder above',
    columns: { name: 'Name', size: 'Size', changed: 'Changed', mode: 'Mode', actions: 'Actions' },
    empty: 'This folder is empty.',
    cut: (count: number) => `The first ${number(count)} entries. Name a folder further down, or use a command.`,
    download: 'Download',
    downloadOf: (name: string) => `Download ${name}`,
    upload: 'Upload a file here',
    uploadFolder: 'Upload a folder here',
    cancel: 'Cancel',
    downloading: (name: string) => `Downloading ${name}`,
    uploading: (name: string) => `Uploading ${name}`,
    lost: (name: string) => `The connection was cut: ${name} was given up, and nothing of it stays.`,
    done: (name: string, bytes: string) => `${name} is whole: ${bytes}.`,
    unreadable: (name: string) => `${name} changed, or could not be read, while it was uploaded. Nothing of it stays.`,
    tooLarge: (name: string, max: string) =>
      `${name} is larger than ${max}, which a page should not hold. In a terminal: edge pull`,
    make: {
      open: 'New folder',
      title: 'New folder',
      action: 'Make it',
      name: 'Name',
      done: (name: string) => `The folder ${name} is made.`,
    },
    rename: {
      open: 'Rename',
      of: (name: string) => `Rename ${name}`,
      action: 'Rename',
      name: 'New name',
      done: (name: string) => `It is called ${name} now.`,
    },
    delete: {
      open: 'Delete',
      of: (name: string) => `Delete ${name}`,
      title: (name: string) => `Delete ${name}?`,
      word: 'delete',
      file: 'The file is gone then. This cannot be taken back.',
      folder: 'A folder is deleted only when it is empty. This cannot be taken back.',
      link: 'The link is gone then; what it leads to stays.',
      done: (name: string) => `${name} is deleted.`,
    },
    gone: 'The connection was cut.',
    cancelled: 'You cancelled the rest.',
    badName: 'A name has no slash, and is not . or ..',
    folderOf: (name: string, at: number, count: number) => `${name} (${number(at)} of ${number(count)} files)`,
    folderDone: (name: string, count: number, bytes: string) =>
      `${name} is whole: ${number(count)} ${count === 1 ? 'file' : 'files'}, ${bytes}.`,
    folderFailed: (name: string, done: number, count: number, why: string) =>
      `${number(done)} of ${number(count)} files of ${name} are there. ${why}`,
    folderTooMany: (max: number) => `A folder with more than ${number(max)} files is better sent by edge push.`,
    replaceFolder: {
      title: 'Upload into this folder?',
      text: 'There is something of this name already. Files of the same names are replaced, others stay.',
      action: 'Upload',
      word: 'replace',
    },
    replace: {
      title: 'Replace this file?',
      text: 'There is a file of this name already.',
      action: 'Replace',
      word: 'replace',
    },
  },
} as const;

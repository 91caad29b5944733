import { type DigPacket, type PlacePacket, dig, place } from './building.ts';
import { runCommand } from './commands/index.ts';
import type { Game } from './game.ts';
import { decodeSlot } from './inventory.ts';
import type { Player } from './player.ts';

const CHAT_HEAT_PER_MESSAGE = 20;
const MAX_CHAT_HEAT = 200;

/** Handles the packets of a player's client until it disconnects. */
export function attend(game: Game, player: Player): void {
  const { client } = player;
  const onChat = ({ message }: { message: string }) => chat(game, player, message);
  const onCommand = ({ command }: { command: string }) => chat(game, player, `/${command}`);
  client.on('chat', onChat);
  client.on('chat_message', onChat);
  client.on('chat_command', onCommand);
  client.on('chat_command_signed', onCommand);
  const onMove = (to: { x: number; y: number; z: number }) => game.move(player, to);
  client.on('position', onMove);
  client.on('position_look', onMove);
  client.on('block_dig', (packet: DigPacket) => dig(game, player, packet));
  client.on('block_place', (packet: PlacePacket) => place(game, player, packet));
  client.on('held_item_slot', ({ slotId }: { slotId: number }) => player.inventory.hold(slotId));
  client.on('set_creative_slot', ({ slot, item }: { slot: number; item: unknown }) => {
    if (player.isCreative) player.inventory.set(slot, decodeSlot(item));
    player.showSlots(player.inventory.get(slot) || !player.isCreative ? [slot] : []);
  });
  // Items stay in their slots: the answer to a move is the actual content of all slots.
  client.on('window_click', ({ windowId, action }: { windowId: number; action?: number }) => {
    if (action !== undefined) client.write('transaction', { windowId, action, accepted: false });
    player.showSlots(player.inventory.all().keys());
  });
}

function chat(game: Game, player: Player, text: string): void {
  const limit = game.protocol.supports('lessCharsInChat') ? 100 : 256;
  // Control characters could forge lines of the log.
  if (text.length > limit || /[\p{Cc}§]/u.test(text)) return player.kick('Illegal characters in chat');
  player.chatHeat += CHAT_HEAT_PER_MESSAGE;
  if (player.chatHeat > MAX_CHAT_HEAT && !game.isOperator(player)) return player.kick('Kicked for spamming');
  if (text.startsWith('/')) return command(game, player, text.slice(1));
  const line = `<${player.name}> ${text.trim()}`;
  game.log.info(line);
  game.broadcast(line);
}

function command(game: Game, player: Player, line: string): void {
  game.log.info(`${player.name} issued server command: /${line}`);
  const reply = runCommand(game, line, { kind: 'player', name: player.name, player });
  if (reply) player.tell(reply);
}

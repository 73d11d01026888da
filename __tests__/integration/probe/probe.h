// One small program for all that a hostile command would try. Each try answers on stdout with one
// line, "OK" or the name of the errno that stopped it, so that a test can tell who said no.
#pragma once

typedef int Try(int argc, char** argv);

int Say(int result);
void Die(const char* what);

Try CallByName;
Try OpenForReading, OpenForWriting, TellWritable, CreateFile, MakeLink, MakeNode, Remount, OpenByHandle;
Try Truncate, ChangeMode, ChangeTimes, ShowNote, WatchNames, WriteMapped;
Try Rename, Swap, SetAttribute;
Try MakeSocket, AskTcp, AskUdp, AskAbstract, AskUnix, ShowInterfaces, Serve;
Try ShowRights, ShowLandlockAbi, Signal;
Try TypeIntoTerminal, TypeIntoStdin, CallAs32Bit;
Try Reap, WithDescriptor, Linger, Meddle;
Try FillMemory;
Try WriteHow;
Try UseQueue, Listen;
Try PassDescriptor, UseDescriptor;
Try Alter, Exhaust;
